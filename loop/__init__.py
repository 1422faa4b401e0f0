"""The central process: conversations, the energy budget, the HTTP interface and the command line."""
