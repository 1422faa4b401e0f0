"""The part of the Memory Sub-Agent that creates and compacts memories: with a model, and by rules without one."""
