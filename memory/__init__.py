"""Episodic memory: what a swarm did and how it ended, and what later runs make of it."""
