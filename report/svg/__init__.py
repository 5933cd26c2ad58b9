"""Drawings of a run as SVG. Each has its own colours, and fetches nothing. Pure."""
