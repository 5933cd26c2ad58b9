"""Texts as vectors: embedders by name, and the vectors that the log keeps."""
