"""Episodic memory: what a swarm did and how it ended, and what the next one makes of it."""
