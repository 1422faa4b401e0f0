"""Finding sessions and versions, suggesting them for a working folder, and linking them between projects."""
