"""Private, consistent copies of stores, and what was seen while they were taken."""
