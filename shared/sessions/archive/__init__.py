"""A project as one file: packed with a checksum of each part, and checked whole before anything of it is kept."""
