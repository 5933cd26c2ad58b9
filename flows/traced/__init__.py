"""The spans of a run: its own, its steps' and their attempts'."""
