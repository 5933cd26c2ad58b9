"""A batch runs each line of a file, and a bad line costs only itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterName
from prefect.client.schemas.objects import Artifact
from prefect_swarm.errors import InputError
from prefect_swarm.flows.batch import swarm_batch
from prefect_swarm.flows.batch_files import BatchLine
from prefect_swarm.flows.batch_line import read_line
from prefect_swarm.flows.batch_run import in_time, run_batch
from prefect_swarm.flows.control import RunControl, controlled
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.models.resolve import override_models
from prefect_swarm.plan.program import ForEach
from prefect_swarm.report.batch_board import BatchBoard, LineStatus
from prefect_swarm.store.events import RunEvent
from prefect_swarm.store.result import RunFailedError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

OPTIONS = SwarmOptions(model="test", max_attempts=1)


def _plan(prompt: str = "greet", **step: Any) -> dict[str, Any]:
    return {
        "objective": "Be polite",
        "agents": [{"name": "Greeter", "system_prompt": "You greet."}],
        "steps": [{"id": "S1", "agent": "Greeter", "prompt": prompt, **step}],
    }


def test_a_string_is_an_objective() -> None:
    job = read_line('"Be polite"', OPTIONS)
    assert (job.objective, job.plan, job.options) == ("Be polite", None, OPTIONS)


def test_an_object_has_an_objective_and_perhaps_a_plan() -> None:
    assert read_line('{"objective": "Greet"}', OPTIONS).plan is None
    job = read_line(json.dumps({"objective": "Be polite", "plan": _plan()}), OPTIONS)
    assert job.objective == "Be polite"
    assert job.plan is not None
    assert job.plan.steps[0].prompt == "greet"


@pytest.mark.parametrize("line", [_plan(), {"plan": _plan()}, {"plan": json.dumps(_plan())}])
def test_a_plan_brings_its_own_objective(line: dict[str, Any]) -> None:
    job = read_line(json.dumps(line), OPTIONS)
    assert job.objective == "Be polite"
    assert job.plan is not None


def test_a_template_is_mapped_over_its_items() -> None:
    line = {"prompt_template": "Greet {item}", "items": ["a", "b"], "join": "Join them"}
    job = read_line(json.dumps(line), OPTIONS)
    assert job.plan is not None
    assert [step.prompt for step in job.plan.steps] == ["Greet {item}", "Join them"]
    assert job.plan.steps[0].for_each == ForEach(items=("a", "b"), max_items=2)


def test_a_lines_options_go_before_the_batchs() -> None:
    job = read_line('{"objective": "Greet", "options": {"seed": 3}}', OPTIONS)
    assert job.options == OPTIONS.model_copy(update={"seed": 3})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "not JSON"),
        ("plain words", "not JSON"),
        ("[]", "The line is a list."),
        ("5", "The line is a number."),
        ("null", "The line is null."),
        ("[" * 100_000, "not JSON"),
        ("{}", "The line has neither an objective nor a plan."),
        ('""', "objective"),
        ('{"objective": "  "}', "The objective is empty."),
        ('{"objective": "x", "plna": {}}', "plna: Extra inputs"),
        ('{"objective": "x", "options": []}', '"options" is a list.'),
        ('{"objective": "x", "priority": "high"}', "\"priority\" got 'high'. Give a whole number"),
        ('{"objective": "x", "priority": 1.5}', '"priority" got 1.5.'),
        ('{"objective": "x", "deadline": "soon"}', "\"deadline\" got 'soon'. Write a time with"),
        ('{"objective": "x", "deadline": "2026-12-24T18:00:00"}', "a time with its zone"),
        ('{"objective": "x", "deadline": 5}', '"deadline" is a number.'),
        ('{"objective": "x", "options": {"max_steps": 0}}', "max_steps"),
        ('{"objective": "x", "plan": {"objective": "y"}}', "steps: Field required"),
        (json.dumps(_plan(gates=["nonesuch"])), "unknown gate 'nonesuch'"),
        (json.dumps({**_plan(), "options": {"max_steps": 1}, "steps": []}), "steps"),
        ('{"prompt_template": "Greet", "items": ["a", "b"]}', "{item}"),
        ('{"prompt_template": "Greet {item}", "items": [1, 2]}', "items.0"),
        (
            '{"prompt_template": "{item}", "items": ["a", "b"], "join": "Join", '
            '"options": {"max_steps": 1}}',
            "2 steps are more than the limit of 1",
        ),
    ],
)
def test_a_bad_line_says_what_is_wrong(line: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        read_line(line, OPTIONS)
    assert problem in str(caught.value)


class Greeter:
    """A model that greets; it waits at prompts with `wait` until `open` is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.asked: list[str] = []
        self.model = FunctionModel(self._answer)

    async def _answer(self, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        prompt = str(cast("UserPromptPart", messages[-1].parts[-1]).content)
        self.asked.append(prompt)
        if "wait" in prompt:
            await self.open.wait()
        if "last" in prompt:
            self.open.set()
        return ModelResponse([TextPart("" if "say nothing" in prompt else f"done: {prompt}")])


@pytest.fixture
def greeter() -> Iterator[Greeter]:
    greeter = Greeter()
    with override_models(worker=greeter.model, coder=greeter.model, architect=greeter.model):
        yield greeter


def _ended(lines: Iterable[str], concurrency: int = 1) -> list[BatchLine]:
    async def collect() -> list[BatchLine]:
        return [line async for line in run_batch(lines, OPTIONS, concurrency)]

    return asyncio.run(collect())


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_one_lines_trouble_is_not_the_others(greeter: Greeter) -> None:
    lines = [
        json.dumps(_plan()),
        "",
        "{",
        json.dumps({"objective": "Be polite", "plan": _plan("say nothing")}),
        json.dumps(_plan("greet again")),
    ]
    ended = _ended(lines)
    assert [line.number for line in ended] == [1, 3, 4, 5]
    first, bad, failed, last = ended
    assert first.result is not None
    assert first.result.answer == "done: greet"
    assert first.error == ""
    assert bad.result is None
    assert "not JSON" in bad.error
    assert failed.result is not None
    assert failed.result.status == "failed"
    assert "No step succeeded" in failed.error
    assert last.result is not None
    assert BatchLine.model_validate_json(last.to_json()) == last
    assert "\n" not in last.to_json()


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_concurrent_lines_keep_their_order(greeter: Greeter) -> None:
    lines = [json.dumps(_plan(prompt)) for prompt in ("wait here", "wait there", "last")]
    ended = _ended(lines, concurrency=3)
    answers = [line.result.answer for line in ended if line.result is not None]
    assert answers == ["done: wait here", "done: wait there", "done: last"]


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_a_cancelled_batch_starts_nothing_more(greeter: Greeter) -> None:
    def handle(event: RunEvent) -> None:
        if event.kind == "started":
            control.cancel.set()

    control = RunControl(listener=handle)
    with controlled(control):
        ended = _ended([json.dumps(_plan("wait")), json.dumps(_plan())])
    assert "cancelled" in ended[0].error
    assert ended[1].error == "The batch was cancelled before this line."
    assert len(greeter.asked) <= 1


def urgent(prompt: str, **urgency: Any) -> str:
    return json.dumps({"plan": _plan(prompt), "objective": "Be polite", **urgency})


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_lines_begin_by_priority_and_deadline_and_end_in_the_files_order(greeter: Greeter) -> None:
    lines = [
        urgent("d"),
        urgent("c", deadline="2100-01-02T00:00:00+01:00"),
        urgent("b", deadline="2100-01-01T23:30:00+02:00"),
        urgent("a", priority=1),
        urgent("e", priority=-1, deadline="2100-01-01T00:00:00Z"),
        json.dumps({**_plan("f"), "priority": -2}),
    ]
    ended = _ended(lines)
    assert [prompt[-1] for prompt in greeter.asked] == [*"abcdef"]
    assert [line.number for line in ended] == [1, 2, 3, 4, 5, 6]


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_a_line_whose_deadline_is_over_is_not_begun(greeter: Greeter) -> None:
    late, other = _ended([urgent("late", deadline="2020-01-01T00:00:00Z"), urgent("other")])
    assert "The line's deadline, 2020-01-01T00:00:00+00:00, was over" in late.error
    assert other.error == ""
    assert len(greeter.asked) == 1


def test_a_line_has_no_more_seconds_than_there_are_until_its_deadline() -> None:
    deadline = datetime.fromtimestamp(1000, UTC)
    assert in_time(OPTIONS, deadline, 900.0).timeout_s == 100
    bounded = OPTIONS.model_copy(update={"timeout_s": 30.0})
    assert in_time(bounded, deadline, 900.0).timeout_s == 30
    assert in_time(OPTIONS, deadline, 900.0, taken_s=50.0).timeout_s == 150


@pytest.mark.usefixtures("prefect_server", "swarm_home")
def test_a_listener_is_told_when_a_line_begins_and_ends(greeter: Greeter) -> None:
    told: list[tuple[dict[LineStatus, int], int]] = []

    def note(board: BatchBoard, ended: BatchLine | None) -> None:
        told.append((dict(board.counts), 0 if ended is None else ended.number))

    async def run() -> None:
        stream = run_batch([urgent("wait"), urgent("last")], OPTIONS, 2, listener=note)
        assert [line.number async for line in stream] == [1, 2]

    asyncio.run(run())
    assert ({"running": 2}, 0) in told
    assert {number for _, number in told} == {0, 1, 2}
    assert told[-1][0] == {"completed": 2}


def test_a_concurrency_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="concurrency of 0"):
        _ended(['"x"'], concurrency=0)


def pages_of_batch(input_path: str) -> list[Artifact]:
    async def read() -> list[Artifact]:
        async with get_client() as client:
            named = FlowRunFilter(name=FlowRunFilterName(any_=[f"batch {input_path}"]))
            artifacts = await client.read_artifacts(flow_run_filter=named)
            return [each for each in artifacts if (each.key or "").startswith("swarm-batch-")]

    return asyncio.run(read())


@pytest.mark.usefixtures("prefect_server", "swarm_home", "greeter")
class TestTheFlow:
    def run(self, folder: Path, text: str) -> Any:
        source = folder / "in.jsonl"
        source.write_text(text, encoding="utf-8")
        return asyncio.run(swarm_batch(str(source), str(folder / "new" / "out.jsonl"), OPTIONS))

    def test_its_page_says_how_far_it_is_and_what_went_wrong(self, tmp_path: Path) -> None:
        self.run(tmp_path, f"{json.dumps(_plan())}\nnonsense\n")
        [page] = pages_of_batch(str(tmp_path / "in.jsonl"))
        assert page.description == "2 of 2 lines: 1 completed, 1 failed"
        text = str(page.data)
        assert "| 2 | failed | The line is not JSON" in text
        assert "/runs/flow-run/" in text

    def test_it_writes_a_line_for_each(self, tmp_path: Path) -> None:
        text = json.dumps(_plan("greet \u2028 them"), ensure_ascii=False)
        summary = self.run(tmp_path, f"\ufeff{text}\r\n\n{text}\nnonsense\n")
        assert (summary.lines, summary.completed, summary.failed) == (3, 2, 1)
        lines = Path(summary.output_path).read_text(encoding="utf-8").split("\n")
        assert [json.loads(line)["number"] for line in lines if line] == [1, 3, 4]
        files = {path.name for path in Path(summary.output_path).parent.iterdir()}
        assert files == {"out.jsonl", "out.jsonl.runs"}

    def test_an_empty_file_is_an_empty_batch(self, tmp_path: Path) -> None:
        summary = self.run(tmp_path, "")
        assert summary.lines == 0
        assert Path(summary.output_path).read_text() == ""

    def test_it_fails_if_every_line_does(self, tmp_path: Path) -> None:
        with pytest.raises(RunFailedError, match="1 of 1 lines failed"):
            self.run(tmp_path, "nonsense")

    def test_a_missing_input_is_said_to_be(self, tmp_path: Path) -> None:
        missing = tmp_path / "nonesuch.jsonl"
        with pytest.raises(InputError, match=r"nonesuch\.jsonl can't be read: No such file"):
            asyncio.run(swarm_batch(str(missing), str(tmp_path / "out"), OPTIONS))

    def test_the_input_is_never_written_over(self, tmp_path: Path) -> None:
        source = tmp_path / "in.jsonl"
        source.write_text('"x"')
        with pytest.raises(InputError, match="is its input too"):
            asyncio.run(swarm_batch(str(source), str(source), OPTIONS))
        assert source.read_text() == '"x"'
