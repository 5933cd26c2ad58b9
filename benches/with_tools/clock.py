"""How long agents take under a virtual clock, where a server answers so many pages at once."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Turn", "virtual_seconds"]


@dataclass(frozen=True, slots=True)
class Turn:
    """An answer of a model, and the page that it asked for, if any."""

    answer_s: float
    page_s: float = 0.0


def virtual_seconds(agents: Sequence[Sequence[Turn]], pages_at_once: int) -> float:
    """Return when the last of agents that begin together is done; pages are first come, served."""
    now, free, waiting = 0.0, pages_at_once, deque[tuple[int, int]]()
    # What ends when: an agent's answer (0) or page (1), with the agent and its turn.
    ends = [(agent[0].answer_s, 0, n, 0) for n, agent in enumerate(agents) if agent]
    heapq.heapify(ends)
    while ends:
        now, kind, n, turn = heapq.heappop(ends)
        if kind == 0 and agents[n][turn].page_s:
            waiting.append((n, turn))
        elif turn + 1 < len(agents[n]):
            heapq.heappush(ends, (now + agents[n][turn + 1].answer_s, 0, n, turn + 1))
        free += kind
        while free and waiting:
            n, turn = waiting.popleft()
            free -= 1
            heapq.heappush(ends, (now + agents[n][turn].page_s, 1, n, turn))
    return now
