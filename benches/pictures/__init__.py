"""The pictures of the docs: a run with scripted models, and what a browser shows of it."""
