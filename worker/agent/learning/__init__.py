"""The Memory Sub-Agent's part that learns from what people asked for in recorded sessions."""
