"""Tiers with models and prices, and gates, as planners are shown them."""

from __future__ import annotations

from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.gates import gates
from prefect_swarm.models.names import FREE, Price
from prefect_swarm.tasks.planner.facts import gate_facts, tier_facts


def test_tiers_of_one_model_are_named_together_with_its_price() -> None:
    options = SwarmOptions(model="openai:small", architect="openai:large")
    small, large = tier_facts(options.model_of, {"openai:small": Price(1e-6, 2e-6)}.get)
    assert (small.tiers, small.model) == (("worker", "coder"), "openai:small")
    assert (small.read_usd, small.written_usd) == (1.0, 2.0)
    assert (large.tiers, large.read_usd) == (("architect",), None)


def test_addresses_folders_and_keys_stay_here() -> None:
    options = SwarmOptions(
        worker="openai:mine@http://10.0.0.1:8000/v1#MY_KEY,openai:b",
        coder="llamacpp:/home/ann/models/coder.gguf",
        architect="demo",
    )
    facts = tier_facts(options.model_of, lambda _: FREE)
    models = [fact.model for fact in facts]
    assert models == ["openai:mine, else openai:b", "coder.gguf", "demo"]


def test_a_gate_has_its_kinds_by_default() -> None:
    facts = {fact.name: fact for fact in gate_facts(gates().values())}
    assert facts["format"].default_for == ("python", "shell")
    assert facts["typecheck"].default_for == ()
    assert facts["length"].about == "a text within min_words and max_words"
