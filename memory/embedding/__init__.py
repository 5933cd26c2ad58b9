"""Texts as vectors: embedders by name, and the vectors that the log keeps.

May be imported by `memory` and `toolsets`.
"""
