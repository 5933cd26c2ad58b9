"""How many requests this machine gains from computing at once: measured once, and kept."""
