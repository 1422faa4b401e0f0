"""Read, think, write: one file a job."""
