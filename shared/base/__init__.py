"""What everything else stands on: errors, clock, ids, settings, who caused a change and whom it is about."""
