"""Answers of providers in one form. Pure, except for the model at a compatible server."""
