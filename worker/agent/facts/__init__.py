"""The part of the Memory Sub-Agent that finds facts: with a model, and by patterns without one."""
