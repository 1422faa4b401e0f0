"""Reading recorded sessions: records, turns, and what a whole file amounts to."""
