"""Deterministic checks that an artifact must pass before another step may read it."""
