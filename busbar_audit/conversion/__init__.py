"""The conversion of a session's old rows into the ledger, as the product does it, on private copies only."""
