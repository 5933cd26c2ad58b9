"""When a plan is read while it is written, and when its steps wait for it."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.flows.plan_stream import plan_reading
from prefect_swarm.plan.task_ir import PlanRules


@pytest.mark.parametrize(
    ("options", "is_read"),
    [
        ({}, True),
        ({"stream_plan": False}, False),
        ({"max_tokens": 1000}, False),
        ({"max_usd": 1.0}, False),
        ({"approve": ("plan",)}, False),
        ({"approve": ("steps",)}, False),
        ({"approve": ("tools",)}, True),
    ],
    ids=str,
)
def test_steps_wait_for_the_plan_if_it_is_bounded_or_approved(
    options: dict[str, Any], is_read: bool
) -> None:
    async def reads() -> bool:
        context: Any = Mock(objective="Compare")
        context.options = SwarmOptions(model="test", **options)
        with plan_reading(context, PlanRules()) as reader:
            return reader is not None

    assert asyncio.run(reads()) == is_read
