"""Chat models behind one protocol, and what each call cost."""
