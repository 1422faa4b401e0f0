"""What a conversation starts with, within a token budget."""
