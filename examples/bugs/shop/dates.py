"""Days of the shop."""


def is_open(weekday: int) -> bool:
    """Say whether it is open; Monday is 0, and it is shut on Sunday."""
    return weekday < 5
