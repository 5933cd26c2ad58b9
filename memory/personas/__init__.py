"""Personas: reusable agents, their records, and decisions about them."""
