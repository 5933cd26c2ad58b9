"""Generations of vectors and graph, built from the log and named by a single pointer.

A generation never changes. Newer episodes are searched in the log.
"""
