"""A plan that a person edits after steps were asked ahead of it."""

from __future__ import annotations

import pytest
from plan_edits import edit_prompt
from prefect_swarm.flows import approval as asking
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.store.events import RunEvent
from provider_runs import planned, serving
from streamed_plans import LAST_PIECES, OBJECTIVE, Streaming, kinds, steps_asked

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")


def test_what_was_asked_ahead_of_unchanged_steps_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LOOK_S", 0.02)
    names: list[str] = []

    def handle(event: RunEvent) -> None:
        if event.kind == "began":
            names.append(event.run)
        if event.kind == "planned" and len(names) == 1:
            edit_prompt(names[0], "S1", "Describe green tea")
            names.append("edited")

    with (
        serving(Streaming(waits_before=LAST_PIECES)) as server,
        controlled(RunControl(handle)),
    ):
        result = planned(server, OBJECTIVE)
    assert result.status == "completed"
    happened = kinds(result)
    assert happened.index(("started", "S1")) < happened.index(("planned", ""))
    assert result.plan.steps[0].prompt == "Describe green tea"
    asked = steps_asked(server.asked)
    for prompt in ("Describe green tea", "Describe coffee", "Describe water"):
        assert asked.count(prompt) == 1
    assert asked.count("Describe tea") == 1
    # What was asked for the step as it was before has been paid for.
    assert result.cost.calls == len(server.asked)
