"""What an app knows about its users: single statements, kept clean by themselves."""
