"""Rows of the ledger that answer papers' claims, one module per paper."""
