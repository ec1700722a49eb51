"""Payloads that a store keeps as bytes: read far enough to be compared with the columns beside them."""
