"""Kinds of time and figures of a run, and what each means."""
