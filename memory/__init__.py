"""Episodic memory: what a swarm did and how it ended, and what later runs make of it.

The log of episodes is the truth; indexes, beliefs and advice are made from it, and can be made
again.
"""
