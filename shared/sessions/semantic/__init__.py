"""What is learnt from a project's sessions: semantic memories, and where they were found."""
