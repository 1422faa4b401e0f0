"""Names and payloads of everything that crosses between the processes."""
