"""The Memory Sub-Agent: values in, values out; no database, no queue."""
