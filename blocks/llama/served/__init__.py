"""A model file that another process of this machine serves."""
