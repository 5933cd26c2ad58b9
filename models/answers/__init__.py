"""Answers of providers, given one form. Pure, but for the model at a compatible server."""
