"""Writes what is generated of the Python client: its models, its methods, and its asynchronous half."""
