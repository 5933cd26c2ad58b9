"""What a run asks a person, and what they answered: written down before anything acts on it.

Imports nothing above the events.
"""
