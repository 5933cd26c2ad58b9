"""Personas: who does a kind of work, what became of them, and what was decided about them."""
