"""`--each`, `--schema` and `--collect`: a step a file or row; and what a run says of its inputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect_swarm.cli.source import with_excluded
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.models.resolve import override_models
from prefect_swarm.store.result import SwarmResult
from scripted import Script

from .conftest import Invoke, Written

SCHEMA = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


def reply(prompt: str) -> str:
    total = re.search(r"total (\d+)", prompt)
    return json.dumps({"total": int(total[1])}) if total else "Done."


@pytest.fixture
def script(prefect_server: None) -> Iterator[Script]:
    script = Script(reply)
    model = script.model()
    with override_models(worker=model, coder=model, architect=model, orchestrator=model):
        yield script


@pytest.fixture
def invoices(tmp_path: Path) -> Path:
    (root := tmp_path / "invoices").mkdir()
    for n in (1, 2, 3):
        (root / f"{n}.txt").write_text(f"Invoice {n}, total {n}{n}\n")
    (root / "empty.txt").touch()
    return root


@pytest.fixture
def schema(written: Written) -> Path:
    return written("schema.json", json.dumps(SCHEMA))


def planned(invoke: Invoke, *arguments: object) -> dict[str, Any]:
    result = invoke("plan", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_each_file_of_a_folder_is_a_step_and_a_table_joins_them(
    script: Script, invoices: Path, schema: Path, written: Written, tmp_path: Path, invoke: Invoke
) -> None:
    rates = written("rates.md", "Rates: 7 percent\n")
    each = ("--each", invoices, "--file", rates, "--schema", schema, "--collect", "table")
    out = tmp_path / "out"
    result = invoke("run", "Extract the total", *each, "--no-memory", "--output", out, "--json")
    assert result.exit_code == 0, result.stderr
    assert SwarmResult.model_validate_json(result.stdout).answer.split() == [
        "total",
        "11",
        "22",
        "33",
    ]
    assert (out / "answer.csv").read_text().split() == ["total", "11", "22", "33"]
    assert len(script.prompts) == 3
    assert all(len(re.findall(r"Invoice \d", prompt)) == 1 for prompt in script.prompts)
    assert all("Rates: 7 percent" in prompt for prompt in script.prompts)
    assert f"Left out 1 of 4 files: {invoices}/empty.txt is empty." in result.stderr
    assert "4 inputs of about 27 tokens." in result.stderr
    reads = "S1 reads one input of about 7 tokens in each of its 3 instances, and rates.md"
    assert reads in result.stderr


def test_each_row_of_a_file_that_has_rows_is_a_step(written: Written, invoke: Invoke) -> None:
    people = written("people.csv", "name,town\nAda,Ulm\nBo,Ghent\n")
    plan = planned(invoke, "--each", people, "--template", "Write to {item.name}")
    (step,) = plan["steps"]
    assert step["for_each"]["items"] == "people.csv"
    both = planned(invoke, "Sum it up", "--each", people, "--each", written("more.csv", "a\n1\n"))
    assert both["steps"][0]["for_each"]["items"] == "*"
    settings = written("settings.json", '{"a": 1}')
    assert planned(invoke, "Sum it up", "--each", settings)["steps"][0]["for_each"]["items"] == "*"


def test_the_files_of_each_are_told_apart_from_others(
    invoices: Path, written: Written, invoke: Invoke
) -> None:
    other = written("1.txt", "Another one\n")
    (step,) = planned(invoke, "Sum it up", "--each", invoices, "--file", other)["steps"]
    assert (step["for_each"]["items"], step["inputs"]) == ("each/*", ["1.txt"])
    notes = written("notes.md", "Notes\n")
    (step,) = planned(invoke, "Sum it up", "--each", f"{invoices}/*.txt", "--file", notes)["steps"]
    assert (step["for_each"]["items"], step["inputs"]) == ("*.txt", ["notes.md"])


def test_what_is_excluded_is_no_step(invoices: Path, invoke: Invoke) -> None:
    result = invoke("plan", "Sum up", "--each", invoices, "--exclude", "[12].*", "--exclude", "x")
    assert result.exit_code == 0, result.stderr
    assert "Nothing was left out for 'x': it fits no file." in result.stderr
    assert "S1 reads one input of about 7 tokens in each of its 1 instance." in result.stdout


def test_a_schema_without_items_is_the_answer_s(
    script: Script, schema: Path, written: Written, tmp_path: Path, invoke: Invoke
) -> None:
    steps = [{"id": "S1", "agent": "A", "prompt": "Extract the total 7"}]
    agents = [{"name": "A", "system_prompt": "You look."}]
    plan = written("p.json", json.dumps({"objective": "x", "agents": agents, "steps": steps}))
    out = tmp_path / "out"
    result = invoke(
        "run", "--plan", plan, "--schema", schema, "--no-memory", "--output", out, "--json"
    )
    assert result.exit_code == 0, result.stderr
    assert json.loads((out / "answer.json").read_text()) == {"total": 7}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is not JSON"),
        ("[]", "is no object"),
        ('{"type": "nonsense"}', "can't be used"),
    ],
)
def test_a_schema_that_is_none_is_an_error_before_anything_is_asked(
    text: str, why: str, written: Written, invoke: Invoke
) -> None:
    result = invoke("plan", "x", "--schema", written("bad.json", text))
    assert result.exit_code == 2
    assert why in result.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--each", "{}"], "--each has no prompt"),
        (["x", "--each", "{}", "--items", "{}"], "--items and --each were both given"),
        (["--each", "{}", "--plan", "{}"], "--plan was given with"),
        (["x", "--each", "{}/*.pdf"], "fits no file"),
        (["x", "--each", "{}", "--join", "y", "--collect", "list"], "join and collect"),
        (["x", "--collect", "list"], "--items is missing"),
    ],
)
def test_arguments_that_do_not_go_together_are_named(
    arguments: list[str], why: str, invoices: Path, invoke: Invoke
) -> None:
    result = invoke("plan", *(argument.format(invoices) for argument in arguments))
    assert result.exit_code == 2
    assert why in result.stderr


def test_what_is_sent_to_every_item_is_said_with_its_cost(
    invoices: Path, written: Written, invoke: Invoke
) -> None:
    for n in range(3):
        (invoices / f"{n}.md").write_text("A long text. " * 1000)
    items = written("items.txt", "tea\ncoffee\nmilk\n")
    mapped = ("--items", items, "--template", "Rate {item}", "--file", invoices)
    result = invoke("plan", *mapped, "--model", "openai:gpt-5-mini")
    said = re.search(r"Each of the 3 instances of S1 reads all 6 inputs: .*", result.stdout)
    assert said is not None
    assert re.search(r"3 times 13,0\d\d tokens, 39,\d\d\d in all, \$0\.0\d+\.", said[0])
    own = invoke("plan", "Rate it", "--each", invoices, "--model", "openai:gpt-5-mini")
    assert "Each of the" not in own.stdout


def test_a_run_that_sends_much_to_every_item_goes_on_where_nobody_can_be_asked(
    script: Script, written: Written, invoke: Invoke
) -> None:
    items = written("items.txt", "tea\ncoffee\n")
    long = written("long.md", "A long text. " * 4000)
    mapped = ("--items", items, "--template", "Rate {item}", "--file", long, "--no-memory")
    result = invoke("run", *mapped, "--json")
    assert result.exit_code == 0, result.stderr
    assert "Each of the 2 instances of S1 reads long.md" in result.stderr
    assert len(script.prompts) == 2


def test_a_batch_says_what_each_line_gets(script: Script, written: Written, invoke: Invoke) -> None:
    lines = written("lines.jsonl", '"Sum it up"\n"Say it in a word"\n')
    long = written("long.md", "A long text. " * 4000)
    result = invoke("batch", lines, "--file", long, "--no-memory")
    assert "Each of 2 lines gets 1 input of about 17,334 tokens." in result.stderr
    assert "That is 34,668 tokens if a step of each line reads them all." in result.stderr


def test_what_is_excluded_is_excluded_from_the_documents_too() -> None:
    options = SwarmOptions(documents=("papers",))
    assert with_excluded(options, ["drafts"]).documents == ("papers", "!drafts")
    assert with_excluded(options, None) == options
    assert with_excluded(SwarmOptions(), ["drafts"]).documents == ()
