"""Evaluations: objectives with checks, each run several times, and what got worse since."""
