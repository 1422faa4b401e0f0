"""Benchmarks: each prints its figures as JSON."""

# Before numpy: as in our processes, one thread multiplies.
import shared  # noqa: F401
