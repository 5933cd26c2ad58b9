"""What a step becomes once its items are known."""

from __future__ import annotations

from prefect_swarm.plan.compile import CompiledStep
from prefect_swarm.plan.conditions import steps_of
from prefect_swarm.plan.expand import followers_of
from prefect_swarm.plan.items import item_of
from prefect_swarm.plan.program import ForEach


def test_each_part_of_a_followers_condition_is_on_the_output_that_it_reads() -> None:
    where = {"is_not": None, "any": [{"at": "/score", "over": 5}, {"not": {"at": "/id", "is": 1}}]}
    for_each = ForEach.model_validate({"items": "S2", "where": where})
    step = CompiledStep("S3", prompt="Judge it.", for_each=for_each)
    (member,) = followers_of(step, [CompiledStep("S2[1]", about=item_of("a"))])
    assert member.when is not None
    assert member.when.step == "S2[1]"
    assert steps_of(member.when) == ("S2[1]",)
    assert all(steps_of(part) == ("S2[1]",) for part in member.when.any or ())
