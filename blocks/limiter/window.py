"""How many requests a provider is sent at once: additive increase, multiplicative decrease. Pure.

The rule of TCP's congestion control (Chiu and Jain, 1989): until the first refusal every success
makes room for one more; after it, every round of successes does, and a refusal halves the room.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

__all__ = ["MOST", "Window"]

_FIRST, MOST = 32.0, 1024.0


@dataclass(frozen=True, slots=True)
class Window:
    """The room there is at one provider.

    Attributes:
        limit: Requests that may be under way; its whole part counts.
        blocked_until: When the next request may start, in the clock's seconds.
        lowered_at: When the limit was last halved; None if it never was.
    """

    limit: float = _FIRST
    blocked_until: float = 0.0
    lowered_at: float | None = None

    @property
    def room(self) -> int:
        """Requests that may be under way."""
        return int(self.limit)

    def after_success(self) -> Window:
        """Return the window after an answer."""
        more = 1.0 if self.lowered_at is None else 1.0 / self.limit
        return replace(self, limit=min(MOST, self.limit + more))

    def after_refusal(self, now: float, started_at: float, under_way: int) -> Window:
        """Return the window after a refusal.

        Args:
            now: The clock's seconds.
            started_at: When the refused request started. Requests that were already under way when
                the limit was halved say nothing about the new one.
            under_way: Requests under way, the refused one included.
        """
        if self.lowered_at is not None and started_at < self.lowered_at:
            return self
        return replace(self, limit=max(1.0, min(self.limit, float(under_way)) / 2), lowered_at=now)

    def opened(self, room: int) -> Window:
        """Return the window with room for so many at least, unless it was ever refused any."""
        if self.lowered_at is not None:
            return self
        return replace(self, limit=min(MOST, max(self.limit, float(room))))

    def blocked(self, until: float) -> Window:
        """Return the window in which nothing starts before `until`."""
        return replace(self, blocked_until=max(self.blocked_until, until))
