"""Conversion of legacy rows to the ledger, as each build of the product did it, on a private copy only."""
