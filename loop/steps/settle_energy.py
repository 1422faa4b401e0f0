"""Settles the ledger into the energy level."""

from __future__ import annotations

from loop.regulator import Regulator


class SettleEnergy:
    """A tick step; each ledger row is drawn exactly once."""

    name = "settle_energy"
    every_seconds = 0.0

    def __init__(self, regulator: Regulator) -> None:
        self._regulator = regulator

    def run(self) -> bool:
        """Settle what was spent since the last tick."""
        self._regulator.settle()
        return False
