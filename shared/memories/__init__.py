"""The few short paragraphs an app keeps: writing, history, compaction."""
