"""Episodic memory: what a swarm did and how it ended, and what later runs make of it.

The log of episodes is the truth; indexes, beliefs and advice can be rebuilt from
it.
"""
