"""The HTTP interface: thin routes over the domain's functions."""
