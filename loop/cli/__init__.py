"""The command line ``afterthought``; talks to a running service over HTTP and knows nothing the API does not say.

One file per noun. What is heavy (HTTP client, settings, database) is imported when a command needs it, so that
``--help`` answers at once.
"""
