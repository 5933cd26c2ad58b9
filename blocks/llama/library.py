"""The llama.cpp library, loaded so that its threads sleep while they wait.

By default they spin, and a busy neighbour (a gate, a search, another engine) makes every token many
times slower: measured on 2 busy cores, 2 tokens a second spinning and 30 sleeping.
"""

from __future__ import annotations

import os

_POLICY = "OMP_WAIT_POLICY"

# OpenMP reads this once, when it is loaded. Child processes are not to inherit our choice.
_ours = _POLICY not in os.environ
if _ours:
    os.environ[_POLICY] = "passive"
try:
    import llama_cpp.llama_cpp as lib
finally:
    if _ours:
        os.environ.pop(_POLICY, None)

__all__ = ["lib"]
