"""What is in stock."""


def missing(wanted: int, stored: int) -> int:
    """Return how many have to be ordered."""
    return stored - wanted
