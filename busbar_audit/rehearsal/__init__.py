"""Rehearsals: what happens to a store when it is written, restarted, purged or upgraded."""
