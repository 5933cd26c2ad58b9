"""Figures of a run: clock, critical path, PARL's measures, time breakdown, and their meanings."""
