"""Options of a block, which people share: what a run has of them."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any, cast

import prefect_swarm
import pytest
from flow_runs import plan_of
from prefect.client.orchestration import get_client
from prefect.deployments import run_deployment
from prefect.flow_engine import run_flow_async
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_swarm import SharedOptions, SwarmOptions, swarm_flow
from prefect_swarm.cli.options import changes_from, options_from
from prefect_swarm.errors import InputError, ModelError
from prefect_swarm.flows.batch_line import line_keys, read_line
from prefect_swarm.flows.shared_options import given_options, merge_with_block
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.result import RunFailedError
from scripted import Script, scripted

pytestmark = pytest.mark.usefixtures("prefect_server", "swarm_home")

PLAN = plan_of({"id": "S1"})
SHARED: dict[str, Any] = {
    "memory": False,
    "namespace": "team",
    "max_attempts": 4,
    "max_tokens": 90_000,
    "tiers": {"worker": {"concurrency": 2, "timeout_s": 60}},
    "gates": {"text": ["+length"]},
}


@pytest.fixture(autouse=True)
def block() -> None:
    save("team", SHARED)


@pytest.fixture
def script() -> Generator[Script]:
    with scripted(Script()) as made:
        yield made


def save(name: str, options: dict[str, Any]) -> None:
    SharedOptions(options=options).save(name, overwrite=True, _sync=True)  # pyright: ignore


def worker_of(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options["tiers"]["worker"].items() if value is not None}


async def kept(flow_run_id: str) -> dict[str, Any]:
    """Return the options of a run, which its folder and its flow run have alike."""
    options = RunFolder.find(flow_run_id).about().options
    async with get_client() as client:
        flow_run = await client.read_flow_run(cast("Any", flow_run_id))
    assert options is not None
    assert options == flow_run.parameters["options"]
    return dict(options)


def run(**options: Any) -> dict[str, Any]:
    """Run with some options, as a program does, and return those that the run had."""
    result = prefect_swarm.swarm_sync(PLAN.objective, plan=PLAN, options=SwarmOptions(**options))
    return asyncio.run(kept(result.flow_run_id))


class TestMerging:
    def test_the_block_goes_first_then_the_deployment_then_the_run(self) -> None:
        deployed = {
            "options_block": "team",
            "max_attempts": 5,
            "tiers": {"worker": {"timeout_s": 50}},
        }
        given = {"max_attempts": 6, "tiers": {"worker": {"timeout_s": 40}, "coder": {}}}
        assert merge_with_block(deployed, given) == {
            **SHARED,
            "max_attempts": 6,
            "tiers": {"worker": {"concurrency": 2, "timeout_s": 40}, "coder": {}},
        }

    def test_a_run_may_name_another_block_than_its_deployment(self) -> None:
        save("cheap", {"max_usd": 0.1})
        merged = merge_with_block({"options_block": "team"}, {"options_block": "cheap"})
        assert merged == {"max_usd": 0.1}

    def test_null_unsets_what_the_block_has_and_the_block_itself(self) -> None:
        merged = merge_with_block({"options_block": "team"}, {"max_tokens": None, "gates": None})
        assert merged == {n: v for n, v in SHARED.items() if n not in ("max_tokens", "gates")}
        assert merge_with_block({"options_block": "team"}, {"options_block": None}) == {}

    def test_of_options_that_were_stored_as_a_whole_those_count_that_are_no_defaults(self) -> None:
        options = SwarmOptions(options_block="team", max_attempts=9, max_usd=1)
        assert given_options(options) == {"options_block": "team", "max_attempts": 9, "max_usd": 1}
        whole = SwarmOptions.model_validate(options.model_dump(mode="json"))
        assert given_options(whole) == {"options_block": "team", "max_usd": 1}


class TestRuns:
    def test_a_program_names_the_block_and_says_what_is_otherwise(self, script: Script) -> None:
        had = run(options_block="team", max_attempts=9, tiers={"worker": {"timeout_s": 50}})
        assert (had["namespace"], had["max_attempts"], had["max_tokens"]) == ("team", 9, 90_000)
        assert worker_of(had) == {"concurrency": 2, "timeout_s": 50}
        assert had["options_block"] is None

    def test_a_run_of_a_deployment_has_all_three(self, script: Script) -> None:
        async def work() -> dict[str, Any]:
            deployed = {"options_block": "team", "max_attempts": 5, "max_steps": 7}
            made = await swarm_flow.ato_deployment("sharing", parameters={"options": deployed})
            await made.aapply()
            parameters = {
                "objective": PLAN.objective,
                "plan": PLAN.model_dump(mode="json"),
                "options": {"max_attempts": 6},
            }
            started = cast("Any", run_deployment("swarm/sharing", parameters=parameters, timeout=0))
            async with get_client() as client:
                flow_run = await client.read_flow_run((await started).id)
            await run_flow_async(swarm_flow, flow_run=flow_run, parameters=flow_run.parameters)
            return await kept(str(flow_run.id))

        had = asyncio.run(work())
        assert (had["namespace"], had["max_steps"], had["max_attempts"]) == ("team", 7, 6)

    def test_a_run_that_goes_on_has_the_options_that_it_began_with(self) -> None:
        down = Script(lambda _: ModelError("It is down."))
        with scripted(down), pytest.raises(RunFailedError) as failed:
            run(options_block="team", max_attempts=1)
        save("team", {"memory": False, "namespace": "others"})
        ended = failed.value.result
        assert ended is not None
        flow_run_id = ended.flow_run_id
        with scripted(Script()) as script:
            result = asyncio.run(prefect_swarm.resume(flow_run_id))
        assert (result.status, bool(script.prompts)) == ("completed", True)
        assert asyncio.run(kept(flow_run_id))["namespace"] == "team"

    @pytest.mark.parametrize(
        ("name", "why"),
        [("gone", "There is no block:swarm-options/gone"), ("wrong", "turns got 0")],
    )
    def test_a_block_that_can_not_be_taken_is_named_before_a_model_is_asked(
        self, script: Script, name: str, why: str
    ) -> None:
        async def store() -> None:
            # The form of a UI checks less than the package does.
            block = SharedOptions.model_construct(options={"turns": 0})
            await cast("Any", block.save("wrong", overwrite=True))

        asyncio.run(store())
        with pytest.raises(InputError, match=why) as refused:
            run(options_block=name)
        assert "options_block" in str(refused.value)
        assert script.prompts == []


class TestCommandLine:
    def test_what_is_typed_goes_before_the_block(self) -> None:
        args: dict[str, Any] = {
            "options_block": "team",
            "max_attempts": 9,
            "tiers": ["worker.timeout_s=50"],
        }
        options = options_from(args)
        assert (options.namespace, options.max_attempts, options.memory) == ("team", 9, False)
        assert (options.tiers["worker"].timeout_s, options.tiers["worker"].concurrency) == (50, 2)
        assert (options.options_block, args) == (None, {})

    def test_a_fork_takes_the_blocks_options_as_if_they_were_typed(self) -> None:
        assert changes_from({"options_block": "team", "max_attempts": 3}) == {
            **SHARED,
            "max_attempts": 3,
        }

    def test_without_a_server_there_are_no_blocks(self) -> None:
        with (
            temporary_settings(updates={PREFECT_API_URL: None}),
            pytest.raises(InputError, match="no server is set") as refused,
        ):
            options_from({"options_block": "team"})
        assert "PREFECT_API_URL" in str(refused.value)


class TestBatches:
    def test_a_line_names_no_block(self) -> None:
        line = '{"objective": "Be polite", "options": {"options_block": "team"}}'
        with pytest.raises(InputError, match="A line names an options_block"):
            read_line(line, SwarmOptions())

    def test_lines_are_known_again_by_the_options_and_not_by_the_block(self) -> None:
        lines = ['"Be polite"']
        shared = SwarmOptions.model_validate(SHARED)
        assert line_keys(lines, options_from({"options_block": "team"})) == line_keys(lines, shared)
