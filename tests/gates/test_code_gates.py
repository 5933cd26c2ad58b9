"""Findings of the real tools on code: shellcheck, ruff, shfmt, pyright."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from gate_checks import found
from prefect_swarm.errors import Category
from prefect_swarm.gates import StepOutput, Subject, find_gate
from prefect_swarm.plan.task_ir import Output


def test_a_plain_script_passes_shellcheck() -> None:
    assert found("shellcheck", '#!/bin/sh\necho "$1"\n', "shell").status == "passed"


def test_a_warning_of_shellcheck_is_a_mistake_in_the_code() -> None:
    finding = found("shellcheck", "#!/bin/bash\ncd /tmp\nrm -rf $x/*\n", "shell")
    assert (finding.status, finding.category) == ("failed", Category.CODE)
    codes = {diagnostic.code for diagnostic in finding.diagnostics}
    assert {"SC2115", "SC2154"} & codes
    assert all(diagnostic.line and diagnostic.column for diagnostic in finding.diagnostics)


def test_a_script_that_cannot_be_parsed_fails_on_its_format() -> None:
    assert found("shellcheck", "if true; then\n", "shell").category is Category.FORMAT


def test_a_script_without_a_first_line_is_read_as_bash() -> None:
    assert found("shellcheck", "[[ -n $1 ]] && echo yes\n", "shell").status == "passed"


@pytest.mark.parametrize(
    ("kind", "written", "repaired"),
    [
        ("python", "def f(a,b):\n  return a+b", "def f(a, b):\n    return a + b\n"),
        ("shell", "if true\nthen\necho a\nfi\n", "if true; then\n  echo a\nfi\n"),
        ("shell", "#!/bin/sh\n  ls\n", "#!/bin/sh\nls\n"),
    ],
)
def test_format_repairs_the_layout(kind: str, written: str, repaired: str) -> None:
    finding = found("format", written, kind)  # type: ignore[arg-type]
    assert (finding.status, finding.repaired) == ("passed", repaired)


def test_what_is_laid_out_well_stays() -> None:
    assert found("format", "x = 1\n", "python").repaired is None


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [("python", "x = 1\ndef f(:\n", (2, 7)), ("shell", "ls\nif true; then\n", (2, 10))],
)
def test_code_that_cannot_be_parsed_fails_on_its_format_with_the_place(
    kind: str, text: str, place: tuple[int, int]
) -> None:
    finding = found("format", text, kind)  # type: ignore[arg-type]
    assert finding.category is Category.FORMAT
    (diagnostic,) = finding.diagnostics
    assert (diagnostic.line, diagnostic.column) == place


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("def f(a):\n    return a + b\n", "F821", (2, 16)),
        ("def f(a=[]):\n    return a\n", "B006", (1, 9)),
        ("x = 1\nx == 2\n", "B015", (2, 1)),
    ],
)
def test_lint_finds_mistakes(text: str, code: str, place: tuple[int, int]) -> None:
    finding = found("lint", text, "python")
    assert (finding.status, finding.category) == ("failed", Category.CODE)
    (diagnostic,) = finding.diagnostics
    assert (diagnostic.code, diagnostic.line, diagnostic.column) == (code, *place)


def test_lint_has_no_taste() -> None:
    ugly = "import os\ndef f( A ):\n    unused = 1\n    return A\n"
    assert found("lint", ugly, "python").status == "passed"


def test_lint_does_not_read_a_configuration_from_where_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ruff.toml").write_text("lint.ignore = ['F821']\n")
    assert found("lint", "print(undefined)\n", "python").status == "failed"


def test_lint_knows_what_the_artifact_is_put_together_with() -> None:
    tests = "def test_it():\n    assert slugify('A') == 'a'\n"
    code = StepOutput(
        name="S1", kind="python", text="def slugify(text):\n    return text.lower()\n"
    )
    alone = Subject(artifact=tests, output=Output(kind="python"))
    beside = alone.model_copy(update={"upstream": (code,)})
    assert asyncio.run(find_gate("lint").check(alone)).status == "failed"
    assert asyncio.run(find_gate("lint").check(beside)).status == "passed"


def test_lint_of_no_python_fails_on_its_format() -> None:
    assert found("lint", "This is how it works:", "python").category is Category.FORMAT


@pytest.mark.slow
def test_typecheck_finds_types_that_do_not_fit() -> None:
    finding = found("typecheck", 'def f(a: int) -> int:\n    return a\n\n\nf("x")\n', "python")
    assert (finding.status, finding.category) == ("failed", Category.CODE)
    (diagnostic,) = finding.diagnostics
    assert (diagnostic.code, diagnostic.line) == ("reportArgumentType", 5)
    assert found("typecheck", "x: int = 1\n", "python").status == "passed"


NOTHING = {
    "shell": ["", " \n\t\n", "# to do", "#!/bin/sh\n\n  # nothing yet\n", "\\\n# so\n"],
    "python": ["", " \n\t\n", "# to do", '"""To do."""\n', "pass\n", "...\n# so\n"],
}
GATES = {"shell": ["format", "shellcheck"], "python": ["format", "lint", "unit", "integration"]}


@pytest.mark.parametrize(
    ("kind", "gate", "text"),
    [(kind, gate, text) for kind in NOTHING for gate in GATES[kind] for text in NOTHING[kind]],
)
def test_code_that_is_none_fails_every_gate_on_its_format(kind: str, gate: str, text: str) -> None:
    finding = found(gate, text, kind)  # type: ignore[arg-type]
    assert (finding.status, finding.category) == ("failed", Category.FORMAT)
    what = "command" if kind == "shell" else "code"
    assert [str(diagnostic) for diagnostic in finding.diagnostics] == [f"there is no {what} in it"]


@pytest.mark.parametrize(
    ("kind", "text"),
    [("shell", "# list\nls # all\n"), ("shell", ":\n"), ("python", "# one\nx = 1\n")],
)
def test_code_beside_comments_is_code(kind: str, text: str) -> None:
    assert found("format", text, kind).status == "passed"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "print(undefined)  # noqa\n",
        "print(undefined)  # noqa: F821\n",
        "# ruff: noqa\nprint(undefined)\n",
        "# flake8: noqa\nprint(undefined)\n",
        "# ruff: disable[F821]\nprint(undefined)\n# ruff: enable[F821]\n",
    ],
)
def test_no_comment_hides_a_mistake_from_lint(text: str) -> None:
    assert [str(d.code) for d in found("lint", text, "python").diagnostics] == ["F821"]


@pytest.mark.parametrize(
    "directive",
    [
        "# shellcheck disable=SC2154",
        "#shellcheck disable=all",
        "  #  shellcheck shell=bash disable=SC2154 # it is set elsewhere",
        "# shellcheck extended-analysis=false disable=SC2154",
    ],
)
def test_no_comment_hides_a_mistake_from_shellcheck(directive: str) -> None:
    text = f"#!/bin/bash\n{directive}\nrm $x\n"
    finding = found("shellcheck", text, "shell")
    assert [(d.code, d.line) for d in finding.diagnostics] == [("SC2154", 3)]


def test_what_a_script_is_may_be_said_in_a_directive() -> None:
    text = '# shellcheck shell=sh source=/dev/null\n. "$1"\n'
    assert found("shellcheck", text, "shell").status == "passed"


def test_a_file_whose_name_is_known_only_later_is_no_mistake() -> None:
    assert found("shellcheck", '#!/bin/bash\nsource "$1"\n', "shell").status == "passed"


@pytest.mark.slow
@pytest.mark.parametrize(
    "comment", ["# type: ignore", "# pyright: ignore", "# pyright: ignore[reportArgumentType]"]
)
def test_no_comment_hides_a_mistake_from_typecheck(comment: str) -> None:
    text = f'def f(a: int) -> int:\n    return a\n\n\nf("x")  {comment}\n'
    assert [d.line for d in found("typecheck", text, "python").diagnostics] == [5]


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads it")
@pytest.mark.parametrize("gate", ["lint", "unit"])
def test_newer_syntax_is_answered_with_the_version_of_this_python(gate: str) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    text = "try:\n    x = 1\nexcept ValueError, TypeError:\n    x = 2\n"
    finding = found(gate, text, "python")
    assert finding.category is Category.FORMAT
    (diagnostic,) = finding.diagnostics
    assert f"(syntax was added in Python 3.14); this is Python {version}" in diagnostic.message
    assert diagnostic.line == 3


DEEP = {
    "attributes": "x = a" + ".b" * 100_000 + "\n",
    "calls": "x = f" + "()" * 100_000 + "\n",
    "signs": "x = " + "-" * 100_000 + "1\n",
    "sums": "x = " + " + ".join("1" * 50_000) + "\n",
    "branches": "if x:\n    pass\n" + "elif x:\n    pass\n" * 20_000,
}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize("gate", ["format", "lint", "unit", "integration", "typecheck"])
def test_what_is_nested_too_deeply_is_the_artifacts_fault(gate: str, kind: str) -> None:
    finding = found(gate, DEEP[kind], "python")
    assert (finding.status, finding.category) == ("failed", Category.FORMAT)
    assert finding.diagnostics[0].message == "it is nested too deeply to be read"
