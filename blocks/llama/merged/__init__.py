"""Model files with the planner's adapter added to their weights, made once."""
