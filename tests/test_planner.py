"""The planner that ships: the embedded model with its adapter plans what a new user may ask."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from prefect_swarm.models.llama.engine import close_engines
from prefect_swarm.models.llama.gguf import check_base, demo_model_path, planner_adapter
from prefect_swarm.models.llama.model import LlamaCppModel
from prefect_swarm.parl.agreement import agreement
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.line_format import read_lines
from prefect_swarm.tasks.planner.task import planner_for

pytestmark = [pytest.mark.model, pytest.mark.slow]

PLANS = {
    "Write a limerick about a plumber": "1. Poet: Write a limerick about a plumber",
    "Describe copper, tin and zinc": """\
1. Metallurgist: Describe copper
2. Metallurgist: Describe tin
3. Metallurgist: Describe zinc""",
    "Compare rowing and swimming for a sore knee and pick one": """\
1. Rowing Coach: Assess rowing for a sore knee
2. Swimming Coach: Assess swimming for a sore knee
3. Judge: Compare rowing and swimming for a sore knee and pick one (needs 1, 2)""",
    "Write a short story about a lighthouse, then translate it into Dutch": """\
1. Writer: Write a short story about a lighthouse
2. Translator: Translate the short story about a lighthouse into Dutch (needs 1)""",
    "Explain inflation to a ten-year-old, a shop owner and a pensioner": """\
1. Teacher: Explain inflation to a ten-year-old
2. Economist: Explain inflation to a shop owner
3. Adviser: Explain inflation to a pensioner""",
    "Argue for and against school uniforms, then judge the debate": """\
1. Advocate: Argue for school uniforms
2. Critic: Argue against school uniforms
3. Judge: Judge the debate on school uniforms (needs 1, 2)""",
}
_MAY_FAIL = 1
"""llama.cpp's arithmetic differs a little from processor to processor, and with it greedy plans."""


@pytest.fixture(autouse=True)
def _close_engines() -> Iterator[None]:
    yield
    close_engines()


def test_the_shipped_adapter_is_made_for_the_embedded_model() -> None:
    base = demo_model_path()
    adapter = planner_adapter(base)
    assert adapter is not None
    check_base(adapter, base)
    assert adapter.stat().st_size <= 10_000_000


def test_it_plans_what_a_new_user_may_ask() -> None:
    async def failures() -> list[str]:
        model = LlamaCppModel(demo_model_path())
        drafts = {
            objective: await planner_for(model).plan(objective, PlanContext())
            for objective in PLANS
        }
        return [
            objective
            for objective, draft in drafts.items()
            if not agreement(draft.plan, read_lines(PLANS[objective], objective)).exact
        ]

    assert len(asyncio.run(failures())) <= _MAY_FAIL
