"""The Memory Sub-Agent's part that condenses recorded sessions."""
