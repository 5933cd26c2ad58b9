"""Letters to customers."""


def greeting(name: str) -> str:
    """Return how a letter begins."""
    return f"Dear {name[1:]},"
