"""The energy ledger and the arithmetic of the budget."""
