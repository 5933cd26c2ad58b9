"""Figures of a run: clock, critical path, time breakdown, and their meanings."""
