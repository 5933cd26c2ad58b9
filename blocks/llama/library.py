"""The llama.cpp library, loaded so that its threads spin shortly while they wait, then sleep.

By default they spin on, and a busy neighbour (a gate, a search, another engine) makes every token
many times slower: on 2 busy cores, 2 tokens a second spinning and 30 sleeping. Threads that sleep
at once have to be woken for every layer, which is slow where the core has gone idle. A plan of
three steps took, on 2 quiet cores and beside one busy process: spinning 20,000 rounds 0.9 and 11 s,
spinning 1,000 rounds 0.9 and 4 s, sleeping at once 7 and 2.3 s.
"""

from __future__ import annotations

import os

# OpenMP reads these once, when it is loaded. Who sets one of them decides alone; child processes
# are not to inherit our choice.
_WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}

_ours = not any(name in os.environ for name in _WAITING)
if _ours:
    os.environ.update(_WAITING)
try:
    import llama_cpp.llama_cpp as lib
finally:
    if _ours:
        for _name in _WAITING:
            os.environ.pop(_name, None)

__all__ = ["lib"]
