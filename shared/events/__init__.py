"""What happened, in order, for those who listen: live streams, long polls and webhooks."""
