"""How the OpenMP threads of llama.cpp and torch wait: they spin shortly, then sleep.

By default they spin on, and a busy neighbour (a gate, a search, another engine) makes every token
many times slower: on 2 busy cores, 2 tokens a second spinning and 30 sleeping. Threads that sleep
at once have to be woken for every layer, which is slow where the core has gone idle. A plan of
three steps took, on 2 quiet cores and beside one busy process: spinning 20,000 rounds 0.9 and 11 s,
spinning 1,000 rounds 0.9 and 4 s, sleeping at once 7 and 2.3 s.

Where a process has more OpenMP threads than cores, as two engines have, GNU's library spins another
number of rounds, which only the policy sets: 0 if it is passive, 1,000 if it is active, and never
more than `GOMP_SPINCOUNT`. With two engines on 2 cores a text alone was written at 37 tokens a
second passive, at 43 without a policy, and at 90 active.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["sleeping_threads"]

_WAITING = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "1000"}


@contextmanager
def sleeping_threads() -> Generator[None]:
    """Import what computes with OpenMP within this: it reads the settings once, when it is loaded.

    If the user has set one of them, nothing is changed.
    """
    ours = not any(name in os.environ for name in _WAITING)
    if ours:
        os.environ.update(_WAITING)
    try:
        yield
    finally:
        if ours:
            # Child processes must not inherit our choice.
            for name in _WAITING:
                os.environ.pop(name, None)
