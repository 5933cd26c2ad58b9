"""Options of a deployment: what its form shows, and what a run of it changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator
from typing import Any, cast

import pytest
from flow_runs import plan_of
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.deployments import run_deployment
from prefect.flow_engine import run_flow_async
from prefect_swarm import SwarmOptions, swarm_flow
from prefect_swarm.errors import InputError
from prefect_swarm.flows.deployed_options import (
    FIRST,
    GROUPS,
    flat_options,
    form_of_options,
    merge_options,
)
from prefect_swarm.flows.options import checked_options
from prefect_swarm.store.folder import RunFolder
from scripted import Script, scripted

FORM = form_of_options()
PLAN = plan_of({"id": "S1"})
DEPLOYED: dict[str, Any] = {
    "memory": False,
    "max_attempts": 4,
    "namespace": "ours",
    "tiers": {"worker": {"concurrency": 2}},
}
names = st.sampled_from(["model", "mcp", "max_usd", "turns", "gates", "tiers"])
values = st.recursive(
    st.none() | st.integers(0, 3) | st.text(max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
options = st.dictionaries(names, values, max_size=4)


def in_form() -> list[str]:
    groups = [FORM["properties"][group]["anyOf"][1]["properties"] for group in GROUPS]
    return [*FIRST, *(name for group in groups for name in group)]


class TestForm:
    def test_each_option_stands_in_it_once(self) -> None:
        assert sorted(in_form()) == sorted(SwarmOptions.model_fields)

    def test_ten_come_first_and_the_groups_begin_folded(self) -> None:
        assert [*FORM["properties"]] == [*FIRST, *GROUPS]
        assert len(FIRST) == 10
        assert [field["position"] for field in FORM["properties"].values()] == [*range(14)]
        for group in GROUPS:
            assert FORM["properties"][group]["anyOf"][0]["type"] == "null"

    def test_a_group_has_a_name_that_no_option_has(self) -> None:
        assert not set(GROUPS) & set(SwarmOptions.model_fields)

    def test_no_box_that_nobody_ticked_is_sent_as_false(self) -> None:
        assert not any(field.get("type") == "boolean" for field in FORM["properties"].values())
        pages = FORM["properties"]["more"]["anyOf"][1]["properties"]["pages"]
        assert (pages["type"], pages["enum"]) == ("string", ["true", "false"])
        assert (
            SwarmOptions.model_validate(merge_options({}, {"more": {"pages": "false"}})).pages
            is False
        )

    def test_a_default_is_said_and_never_sent(self) -> None:
        assert '"default":' not in json.dumps(FORM)
        assert FORM["properties"]["turns"]["description"].endswith("Default: 6.")

    @given(st.sampled_from(in_form()))
    def test_the_default_of_each_option_is_taken(self, name: str) -> None:
        value = SwarmOptions().model_dump(mode="json")[name]
        if value is not None:
            Draft202012Validator(FORM).validate({name: value})


class TestMerging:
    def test_a_value_replaces_an_object_merges_and_null_unsets(self) -> None:
        deployed = {
            "model": "a",
            "approve": ["plan"],
            "max_usd": 2,
            "gates": {"text": ["+x"], "json": ["+y"]},
            "tiers": {"worker": {"concurrency": 2, "timeout_s": 9}},
        }
        run = {
            "model": "b",
            "max_usd": None,
            "gates": {"text": None},
            "tiers": {"worker": {"timeout_s": 3}, "coder": {"concurrency": 1}},
        }
        assert merge_options(deployed, run) == {
            "model": "b",
            "approve": ["plan"],
            "gates": {"json": ["+y"]},
            "tiers": {
                "worker": {"concurrency": 2, "timeout_s": 3},
                "coder": {"concurrency": 1},
            },
        }

    def test_a_list_replaces(self) -> None:
        assert merge_options({"approve": ["plan"]}, {"approve": []}) == {"approve": []}

    def test_a_schema_is_one_value(self) -> None:
        first, second = {"type": "object", "required": ["a"]}, {"type": "array"}
        merged = merge_options({"answer_schema": first}, {"answer_schema": second})
        assert merged == {"answer_schema": second}

    @given(options)
    def test_a_run_that_is_given_nothing_has_the_deployments(
        self, deployed: dict[str, Any]
    ) -> None:
        own = merge_options({}, deployed)
        for nothing in (None, {}):
            assert merge_options(own, nothing) == own

    @given(options, options)
    def test_what_a_run_is_not_given_stands(
        self, deployed: dict[str, Any], run: dict[str, Any]
    ) -> None:
        merged = merge_options(deployed, run)
        own = merge_options({}, deployed)
        assert {n: v for n, v in merged.items() if n not in run} == {
            n: v for n, v in own.items() if n not in run
        }

    @given(options, options)
    def test_once_more_changes_nothing(self, deployed: dict[str, Any], run: dict[str, Any]) -> None:
        merged = merge_options(deployed, run)
        assert merge_options(merged, run) == merged

    def test_an_option_of_a_group_goes_before_the_deployments_beside_it(self) -> None:
        sent = {"worker": "a", "coder": "c", "more_models": {"worker": "b"}, "more": None}
        assert flat_options(sent) == {"worker": "b", "coder": "c"}

    @pytest.mark.parametrize("wrong", [5, "model", ["model"], {"more": 5}])
    def test_what_is_no_object_is_an_error_that_says_where(self, wrong: object) -> None:
        with pytest.raises(InputError, match="is no object"):
            merge_options({}, wrong)

    def test_what_comes_of_it_is_checked(self) -> None:
        with pytest.raises(InputError, match="turns got 0"):
            checked_options(merge_options({"turns": 0}, {}))


@pytest.mark.usefixtures("prefect_server", "swarm_home")
class TestRuns:
    @pytest.fixture
    def script(self) -> Generator[Script]:
        with scripted(Script()) as made:
            yield made

    async def start(self, deployed: object, options: object) -> FlowRun:
        deployment = await swarm_flow.ato_deployment(
            "merging", parameters={"options": deployed} if deployed else {}
        )
        await deployment.aapply()
        parameters = {
            "objective": PLAN.objective,
            "plan": PLAN.model_dump(mode="json"),
            **({} if options is None else {"options": options}),
        }
        run = await cast("Any", run_deployment("swarm/merging", parameters=parameters, timeout=0))
        async with get_client() as client:
            return await client.read_flow_run(run.id)

    async def done(self, flow_run: FlowRun) -> dict[str, Any]:
        """Have a process do the run, and return the options that it was done with."""
        await run_flow_async(swarm_flow, flow_run=flow_run, parameters=flow_run.parameters)
        about = RunFolder.of(str(flow_run.id)).about()
        async with get_client() as client:
            kept = (await client.read_flow_run(flow_run.id)).parameters["options"]
        assert about.options == kept
        return dict(kept)

    def test_the_deployments_options_stand_but_for_what_the_run_is_given(
        self, script: Script
    ) -> None:
        async def work() -> dict[str, Any]:
            given = {
                "namespace": None,
                "max_attempts": 2,
                "more_models": {"tiers": {"worker": {"timeout_s": 5}}},
            }
            return await self.done(await self.start(DEPLOYED, given))

        found = asyncio.run(work())
        assert (found["memory"], found["max_attempts"], found["namespace"]) == (False, 2, "default")
        worker = {"concurrency": 2, "timeout_s": 5}
        assert {n: v for n, v in found["tiers"]["worker"].items() if v is not None} == worker
        assert len(script.prompts) == 1

    @pytest.mark.parametrize("given", [None, {}])
    def test_a_run_that_is_given_none_has_them_all(self, script: Script, given: object) -> None:
        async def work() -> dict[str, Any]:
            return await self.done(await self.start(DEPLOYED, given))

        found = asyncio.run(work())
        assert (found["max_attempts"], found["namespace"]) == (4, "ours")

    def test_a_run_that_goes_on_has_those_that_it_began_with(self, script: Script) -> None:
        async def work() -> dict[str, Any]:
            flow_run = await self.start(DEPLOYED, {"max_attempts": 2})
            first = await self.done(flow_run)
            # Another deployment of the same name takes the place of the first.
            await self.start({"memory": False, "namespace": "theirs"}, {})
            async with get_client() as client:
                again = await client.read_flow_run(flow_run.id)
            assert again.parameters["options"] == first
            return first

        assert asyncio.run(work())["namespace"] == "ours"

    def test_options_of_a_deployment_that_can_not_be_taken_are_named(self, script: Script) -> None:
        async def work() -> None:
            await self.done(
                await self.start({"memory": False, "policy": {"rules": {"LOGIC": ["NOD"]}}}, {})
            )

        with pytest.raises(InputError, match=r"policy.*got"):
            asyncio.run(work())
        assert script.prompts == []
