"""Digest recipes and verifiers of the hash chains."""
