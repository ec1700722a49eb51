"""What purges took, what the next one would take, and what came and went between two runs."""
