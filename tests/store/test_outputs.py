"""The outputs of a result: by step, by type, as a table, and by their references."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from eval_results import swarm_result
from prefect_swarm.errors import InputError, RunNotFoundError
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.item_table import ItemTable
from prefect_swarm.store.outputs import NoStepError, read_output
from prefect_swarm.store.result import SwarmResult
from prefect_swarm.store.step import StepState
from pydantic import BaseModel, ValidationError

RUN = "0" * 12
JSON = {"kind": "json"}
AGENT = {"name": "Reader", "system_prompt": "You read."}


class Invoice(BaseModel):
    number: int
    total: float


def result_of(plan_steps: list[dict[str, Any]], outputs: dict[str, Any]) -> SwarmResult:
    """A result whose steps made these outputs, and of which others failed; stored in its folder."""
    steps = [{"agent": "Reader", "prompt": f"do {step['id']}", **step} for step in plan_steps]
    plan = TaskIR.model_validate({"objective": "Read", "agents": [AGENT], "steps": steps})
    run, states = RunFolder.of(RUN), list[StepState]()
    for name, value in outputs.items():
        if value is None:
            states.append(_state(name, status="failed", category="LOGIC", reason="LOGIC: no"))
            continue
        text = value if isinstance(value, str) else json.dumps(value)
        states.append(_state(name, output_ref=run.write_output(name, text), excerpt=text[:500]))
    return swarm_result("So it is.").model_copy(update={"plan": plan, "steps": tuple(states)})


def _state(name: str, **fields: Any) -> StepState:
    parent = name.rpartition(".")[0] if "." in name else name.partition("[")[0]
    parent = parent.partition("r")[0] if "r" in name and "[" not in name else parent
    around = "" if parent == name else parent
    given = {"id": name, "agent": "Reader", "status": "succeeded", "parent": around}
    label = f"item {name[-2]}" if name.endswith("]") else ""
    return StepState.model_validate({**given, "label": label, **fields})


INVOICES = [{"number": 1, "total": 2.5}, {"number": 3, "total": 4.0}]


@pytest.fixture(autouse=True)
def fresh(swarm_home: Path) -> Iterator[None]:
    # Folders are remembered by their runs' ids, and each test has a data folder of its own.
    RunFolder.of.cache_clear()
    yield
    RunFolder.of.cache_clear()


@pytest.fixture
def invoices(swarm_home: Path) -> SwarmResult:
    each: dict[str, Any] = {"id": "S1", "output": JSON, "for_each": {"items": ["a", "b", "c"]}}
    plan: list[dict[str, Any]] = [each, {"id": "S2", "depends_on": ["S1"]}]
    made = {
        "S1": INVOICES,
        "S1[1]": INVOICES[0],
        "S1[2]": None,
        "S1[3]": INVOICES[1],
        "S2": "Two of them.",
    }
    return result_of(plan, made)


def test_an_output_is_a_value_where_the_step_makes_json_and_a_text_elsewhere(
    invoices: SwarmResult,
) -> None:
    assert invoices["S1[1]"].output == INVOICES[0]
    assert invoices["S1"].output == INVOICES
    assert invoices["S2"].output == "Two of them."
    assert [member.id for member in invoices["S1"].members] == ["S1[1]", "S1[2]", "S1[3]"]


def test_a_step_without_an_output_has_none_and_says_why(invoices: SwarmResult) -> None:
    step = invoices["S1[2]"]
    assert (step.output, step.status, step.problem) == (None, "failed", "LOGIC: no")
    with pytest.raises(InputError, match=r"S1\[2\] made no output: LOGIC: no"):
        step.output_as(Invoice)


def test_an_unknown_step_is_a_key_error_that_names_those_there_are(invoices: SwarmResult) -> None:
    with pytest.raises(NoStepError, match=r"no step 'S9'\. There are S1, S1\[1\]") as error:
        invoices["S9"]
    assert isinstance(error.value, KeyError)
    assert "S9" not in invoices
    assert "S1[2]" in invoices


def test_an_output_is_read_as_a_type(invoices: SwarmResult) -> None:
    assert invoices["S1[3]"].output_as(Invoice) == Invoice(number=3, total=4.0)
    with pytest.raises(ValidationError):
        invoices["S2"].output_as(Invoice)


def test_all_outputs_of_a_type_are_found_instances_too(invoices: SwarmResult) -> None:
    assert invoices.outputs(Invoice) == (Invoice(number=1, total=2.5), Invoice(number=3, total=4.0))
    assert invoices.outputs(list[Invoice]) == ([*invoices.outputs(Invoice)],)
    assert invoices.outputs(str) == ("Two of them.",)


def test_of_rounds_and_inner_steps_each_output_counts_once(swarm_home: Path) -> None:
    plan = [
        {"id": "S1", "output": JSON, "repeat": {"until": {"at": "/ok", "is": True}}},
        {
            "id": "S2",
            "agent": "",
            "prompt": "",
            "plan": {"steps": [{"id": "S1", "agent": "Reader", "prompt": "p", "output": JSON}]},
        },
    ]
    one, two, three = ({"number": n, "total": n} for n in (1, 2, 3))
    made = {"S1": two, "S1r1": one, "S1r2": two, "S2": three, "S2.S1": three}
    numbers = [invoice.number for invoice in result_of(plan, made).outputs(Invoice)]
    assert numbers == [2, 3]


def test_failures_name_the_items_that_failed(invoices: SwarmResult) -> None:
    [failure] = invoices.failures
    assert (failure.step, failure.item, failure.reason) == ("S1[2]", "item 2", "LOGIC: no")


def test_a_table_has_a_row_an_item_and_says_which_failed(invoices: SwarmResult) -> None:
    table = invoices.table()
    assert table.columns == ("step", "item", "number", "total", "problem")
    assert [row.get("number") for row in table] == [1, None, 3]
    assert [row.get("problem") for row in table] == [None, "LOGIC: no", None]
    assert len(table) == 3


def test_a_table_is_written_as_csv(invoices: SwarmResult, tmp_path: Path) -> None:
    invoices.table("S1").to_csv(path := tmp_path / "t.csv")
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    assert rows[0] == {
        "step": "S1[1]",
        "item": "item 1",
        "number": "1",
        "total": "2.5",
        "problem": "",
    }
    assert rows[1]["problem"] == "LOGIC: no"


def test_fields_that_are_called_as_a_column_keep_their_name(swarm_home: Path) -> None:
    plan = [{"id": "S1", "output": JSON, "for_each": {"items": ["a"]}}]
    table = result_of(plan, {"S1": [], "S1[1]": {"item": "tea", "step": 2, "text": "t"}}).table()
    assert table.columns == ("step_", "item_", "item", "step", "text", "problem")
    assert table.rows[0]["item"] == "tea"


def test_a_list_is_several_rows_and_a_text_a_column(swarm_home: Path) -> None:
    plan = [{"id": "S1", "output": JSON, "for_each": {"items": ["a", "b"]}}]
    made = {"S1": [], "S1[1]": [{"x": 1}, {"x": 2}], "S1[2]": "not json"}
    assert [(row.get("x"), row.get("text")) for row in result_of(plan, made).table()] == [
        (1, None),
        (2, None),
        (None, "not json"),
    ]


def test_with_two_steps_for_items_the_table_s_has_to_be_named(swarm_home: Path) -> None:
    plan = [{"id": name, "for_each": {"items": ["a"]}} for name in ("S1", "S2")]
    result = result_of(plan, {"S1": "", "S1[1]": "x", "S2": "", "S2[1]": "y"})
    with pytest.raises(InputError, match=r"2 steps that are done for items\. Name one"):
        result.table()
    assert [row["text"] for row in result.table("S2")] == ["y"]
    with pytest.raises(NoStepError):
        result.table("S3")


def test_without_items_the_rows_are_the_steps(swarm_home: Path) -> None:
    table = result_of([{"id": "S1"}, {"id": "S2"}], {"S1": "one", "S2": "two"}).table()
    assert [(row["step"], row["text"]) for row in table] == [("S1", "one"), ("S2", "two")]


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_a_frame_without_its_package_is_an_error_that_says_so(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    table = ItemTable(("a",), ({"a": 1},))
    with pytest.raises(InputError, match=rf"{name} is not installed here\. .*pip install {name}"):
        getattr(table, f"to_{name}")()


def given_to(name: str, table: ItemTable, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a package that may not be installed here makes a frame of."""
    made: list[Any] = []
    module = ModuleType(name)

    def frame(data: Any, **_: Any) -> None:
        made.append(data)

    vars(module)["DataFrame"] = frame
    monkeypatch.setitem(sys.modules, name, module)
    getattr(table, f"to_{name}")()
    return made[0]


def test_a_frame_of_pandas_has_all_columns_of_each_row(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ItemTable(("a", "b"), ({"a": 1}, {"b": [2]}))
    found = given_to("pandas", table, monkeypatch)
    assert found == [{"a": 1, "b": None}, {"a": None, "b": [2]}]


@pytest.mark.parametrize(
    ("values", "column"),
    [
        ([1, None, 2], [1, None, 2]),
        ([1, 2.5], [1.0, 2.5]),
        ([True, False], [True, False]),
        ([1, True], ["1", "true"]),
        ([1, "n/a", None], ["1", "n/a", None]),
        ([[1], {"k": "é"}], ["[1]", '{"k": "é"}']),
        ([2**70], [str(2**70)]),
        ([None], [None]),
    ],
)
def test_a_column_of_polars_has_one_type(
    values: list[Any], column: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = ItemTable(("a",), tuple({"a": value} for value in values))
    assert given_to("polars", table, monkeypatch) == {"a": column}


def test_a_reference_is_read_from_the_data_folder(invoices: SwarmResult) -> None:
    assert invoices["S2"].state.output_ref == f"{RUN}/outputs/S2.txt"
    assert read_output(f"{RUN}/outputs/S2.txt") == "Two of them."


@pytest.mark.parametrize(
    "reference",
    ["", "S1", "../outputs/S1.txt", "a/b/outputs/S1.txt", f"{RUN}/outputs/../result.txt", "/etc/x"],
)
def test_what_is_no_reference_is_an_error(reference: str, swarm_home: Path) -> None:
    with pytest.raises(InputError, match="is no reference to an output"):
        read_output(reference)


def test_an_output_that_is_not_here_says_where_it_was_looked_for(swarm_home: Path) -> None:
    with pytest.raises(RunNotFoundError, match=rf"not in {swarm_home}.*machine that executed"):
        read_output(f"{RUN}/outputs/S1.txt")


def test_a_short_output_needs_no_folder_and_a_long_one_does(
    invoices: SwarmResult, swarm_home: Path
) -> None:
    short, long = invoices["S1[1]"], invoices["S2"]
    cut = long.state.model_copy(update={"excerpt": "Two … [5000 more characters]"})
    steps = tuple(cut if step.id == "S2" else step for step in invoices.steps)
    for name in ("S1[1]", "S2"):
        (swarm_home / "runs" / RUN / "outputs" / f"{name}.txt").unlink()
    assert short.output == INVOICES[0]
    with pytest.raises(RunNotFoundError):
        _ = invoices.model_copy(update={"steps": steps})["S2"].output


def test_a_result_is_printed_in_three_lines(invoices: SwarmResult) -> None:
    assert str(invoices).splitlines() == [
        "Run 000000000000 completed, 1 item missing: 2 of 2 steps done",
        "1.0 s, 0 calls, 10 tokens, $0.0000",
        "Answer: So it is.",
    ]
    assert len(repr(invoices)) < 300


def test_a_result_without_an_answer_says_why(invoices: SwarmResult) -> None:
    failed = invoices.model_copy(update={"answer": "", "problem": "No key.\nNone."})
    assert str(failed).splitlines()[2] == "No answer. No key. None."
    assert len(str(failed).splitlines()) == 3


def test_a_result_in_json_has_its_outputs_too(invoices: SwarmResult) -> None:
    read = SwarmResult.model_validate_json(invoices.model_dump_json())
    assert read["S1[3]"].output == INVOICES[1]


def test_an_answer_is_taken_as_a_type_from_a_result_that_was_stored_as_json() -> None:
    result = swarm_result(json.dumps(INVOICES[0]))
    loaded = SwarmResult.model_validate_json(result.model_dump_json())
    assert loaded.output is None
    assert loaded.output_as(Invoice) == Invoice(number=1, total=2.5)
    assert loaded.output_as(dict[str, float]) == INVOICES[0]


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ("So it is.", Invoice, "'So it is.', is not JSON of the type Invoice: Invalid JSON"),
        ('{"number": "x"}', Invoice, "Invoice: number: .* (got 'x'); total: Field required"),
        ("[1, 2]", list[str], "type list: 0: .*valid string"),
        (json.dumps(["x"] * 9), list[int], "; and 4 more"),
    ],
)
def test_an_answer_of_another_type_is_an_error_that_says_what_to_do(
    answer: str, kind: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace(")", r"\)")) as raised:
        swarm_result(answer).output_as(kind)
    assert raised.value.fix.endswith("as its option answer_schema.")


def test_a_result_without_an_answer_can_not_be_taken_as_a_type() -> None:
    failed = swarm_result("").model_copy(update={"status": "partial", "problem": "S1 failed."})
    with pytest.raises(InputError, match=f"{failed.run_id} is partial and has no answer: S1 f"):
        failed.output_as(Invoice)
