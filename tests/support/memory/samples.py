"""Episodes to remember."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from prefect_swarm.errors import Category
from prefect_swarm.memory.episode import Episode, EpisodeKey, GateOutcome

WORDS = (
    "compare the trains of two countries by price and comfort, then say which one a family with "
    "three children should take, and why the other one may still be worth a thought in winter"
)


def episode(number: int = 1, **changes: Any) -> Episode:
    """An episode of its own key, with little in it."""
    fields = {
        "run": f"run-{number}",
        "step": "S1",
        "attempt": 1,
        "prompt": f"Write function number {number}",
        "persona": "python-engineer",
        "tier": "worker",
        "model": "embedded",
        "succeeded": True,
        "started_at": 1000.0 + number,
        "ended_at": 1002.5 + number,
        "duration_s": 1.25,
        "reward": 1.0,
    }
    return Episode.model_validate({**fields, **changes})


def full_episode(number: int = 1, **changes: Any) -> Episode:
    """An episode of usual size in which every field has a value of its own."""
    fields = {
        "run": f"0192f0c4-7a41-7d3e-9b1c-{number // 10:012x}",
        "step": f"S{number % 10 + 1}",
        "attempt": 2,
        "objective": f"For a travel page: {WORDS}. Edition {number // 10}.",
        "task_type": "code/python",
        "output": "python",
        "prompt": f"Edition {number}: {WORDS}",
        "revision": 1,
        "cause": "RETRY",
        "decision": "ESCALATE",
        "rule": "CODE/2",
        "succeeded": False,
        "category": Category.CODE,
        "error": f"ruff: line {number % 50}: undefined name 'prices'",
        "gates": (
            GateOutcome(gate="python_syntax", status="passed"),
            GateOutcome(gate="ruff", status="failed", category=Category.CODE),
        ),
        "input_tokens": 412,
        "output_tokens": 230 + number % 100,
        "reward": -0.6,
        "terms": {"failure": -0.5, "gates": -0.1},
        "upstream": ("S1", "S2"),
        "downstream": ("S5",),
        "used": (EpisodeKey("an-earlier-run", "S3", 1),),
        "artifact": f"{number:064x}",
        "excerpt": f"def cheapest(prices):\n    # {number}: {WORDS}\n" + "    pass\n" * 25,
    }
    return episode(number, **{**fields, **changes})


_texts = st.text(max_size=12)
_names = st.text(min_size=1, max_size=4)
_keys = st.builds(EpisodeKey, _names, _names, st.integers(1, 3))
_gates = st.builds(
    GateOutcome,
    gate=_names,
    status=st.sampled_from(["passed", "failed", "skipped", "error"]),
    category=st.none() | st.sampled_from(Category),
)
_moments = st.floats(-62e9, 253e9)
_rewards = st.floats(-1000, 1000)

episodes = st.builds(
    Episode,
    namespace=st.sampled_from(["default", "ours", "théirs"]),
    run=st.sampled_from(["a", "b", "A", "b\x00", "\x1a"]) | _names,
    step=st.sampled_from(["S1", "S2"]),
    attempt=st.integers(1, 2),
    objective=_texts,
    prompt=_texts,
    persona=st.sampled_from(["tester", "Tester"]) | _names,
    tier=st.sampled_from(["worker", "coder", "architect"]),
    model=_texts,
    revision=st.integers(0, 2**63 - 1),
    cause=st.none() | st.sampled_from(["RETRY", "SKIP"]),
    succeeded=st.booleans(),
    category=st.none() | st.sampled_from(Category),
    error=_texts,
    gates=st.lists(_gates, max_size=3).map(tuple),
    input_tokens=st.integers(0, 2**40),
    started_at=_moments,
    ended_at=_moments,
    duration_s=st.floats(0, 1e15),
    reward=_rewards,
    terms=st.dictionaries(_texts, _rewards, max_size=3),
    upstream=st.lists(_names, max_size=3).map(tuple),
    used=st.lists(_keys, max_size=2).map(tuple),
    excerpt=_texts,
)
"""Any episode, from keys few enough to collide."""
