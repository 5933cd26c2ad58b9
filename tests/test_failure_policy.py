"""The table is data: it can be read from a file, and what can't work is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect_swarm.errors import Category, InputError
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.store.failure_policy import RULES, Policy, load_policy


def write(folder: Path, text: str) -> Path:
    (file := folder / "policy.yaml").write_text(text, encoding="utf-8")
    return file


def test_every_category_has_a_rule() -> None:
    assert set(RULES) == set(Category)


def test_what_a_file_leaves_out_is_as_by_default(tmp_path: Path) -> None:
    policy = load_policy(write(tmp_path, "rules:\n  LOGIC: [SAMPLE, ESCALATE]\nsamples: 8\n"))
    assert policy.rules == {**RULES, Category.LOGIC: ("SAMPLE", "ESCALATE")}
    assert (policy.samples, policy.replans) == (8, Policy().replans)


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    assert load_policy(write(tmp_path, "# nothing\n")) == Policy()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rules: [", "is not valid YAML"),
        ("rules:\n  LOGIK: [RETRY]\n", "LOGIK"),
        ("rules:\n  LOGIC: [PRAY]\n", "PRAY"),
        ("rules:\n  BUDGET: [RETRY]\n", "BUDGET can't be retried"),
        ("ladders:\n  code: [coder, worker]\n", "a ladder rises"),
        ("ladders:\n  code: []\n", "at least 1"),
        ("samples: 1\n", "samples"),
        ("sample: 4\n", "sample"),
        ("- 1\n", "dictionary|mapping|object"),
    ],
)
def test_a_file_that_cannot_work_is_refused_with_the_reason(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(InputError, match=why):
        load_policy(write(tmp_path, text))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none"):
        load_policy(tmp_path / "none")


def test_a_policy_survives_json() -> None:
    assert Policy.model_validate_json(Policy().model_dump_json()) == Policy()


def test_what_is_ingested_goes_from_the_worker_to_the_architect() -> None:
    options = SwarmOptions(worker="a", coder="b", architect="c")
    assert options.ladder(task_type="ingest") == ("worker", "architect")
    assert options.ladder(task_type="code") == ("worker", "coder", "architect")
    assert options.ladder("coder", "ingest") == ("worker",)
