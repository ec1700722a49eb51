"""Speed and memory, measured as ratios against a plain loop in the same run."""
