"""Generations of vectors and graph, built from the log and named by a single pointer.

A generation never changes. What is newer than it is searched in the log.
"""
