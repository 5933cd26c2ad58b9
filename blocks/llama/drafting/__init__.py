"""Guessing what a model writes next, so that several tokens are computed together."""
