"""A step whose agent has tools waits for the plan: what a tool does can't be undone."""

from __future__ import annotations

import asyncio
from pathlib import Path

from flow_runs import plan_of
from prefect_swarm.flows.ahead.first_requests import FirstRequests
from prefect_swarm.flows.bounds.budget import Budget
from prefect_swarm.flows.bounds.ledger import Ledger
from prefect_swarm.flows.bounds.limits import Models
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.runs import RunFolder
from prefect_swarm.toolsets.catalogue import Catalogue, open_catalogue
from prefect_swarm.toolsets.given import given_toolsets, override_toolsets
from pydantic_ai.toolsets import FunctionToolset


def test_only_steps_whose_agents_have_no_tools_are_asked_ahead(tmp_path: Path) -> None:
    shopper = {"name": "Shopper", "system_prompt": "You look prices up.", "tools": ["shop"]}
    reader = {"name": "Reader", "system_prompt": "You read closely."}
    steps = ({"id": "S1", "agent": "Shopper"}, {"id": "S2"}, {"id": "S3", "depends_on": ["S2"]})
    plan = plan_of(*steps, agents=[reader, shopper])
    options, ledger = SwarmOptions(model="test", memory=False), Ledger(Budget(), 0.0)
    first = FirstRequests(RunFolder(tmp_path), "run", options, Models(), ledger, {})
    with override_toolsets(shop=FunctionToolset[None]()):
        catalogue = Catalogue.of(given_toolsets().values())
    with open_catalogue("run", catalogue):
        requests = asyncio.run(first.of(plan))
    assert [request.step for request in requests] == ["S2"]
