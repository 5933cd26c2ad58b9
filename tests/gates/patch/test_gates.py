"""The gates of a patch, held against small repositories with real git, and in the real sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from git_folders import contents, tree_with
from prefect_swarm.errors import Category, GateError
from prefect_swarm.gates import Finding, Subject, find_gate
from prefect_swarm.gates.patch import judging
from prefect_swarm.plan.output import Output
from prefect_swarm.workspace.place import Workplace
from prefect_swarm.workspace.repository import LARGEST_FILE, FileData, Repository, folder_of

pytestmark = pytest.mark.usefixtures("swarm_home")

Files = Mapping[str, str | bytes | FileData | None]
FILES: dict[str, str] = {
    "src/a.py": "x = 1\n",
    "tests/test_a.py": "from src.a import x\n\n\ndef test_x():\n    assert x == 1\n",
    ".gitignore": "*.log\nbuild/\n",
}


@dataclass
class Shop:
    """A run's repository with a base, against which patches are held."""

    folder: Path
    repository: Repository
    start: str
    checks: tuple[str, ...] = ()

    def subject(self, patch: str, **output: Any) -> Subject:
        place = Workplace(run="run", folder=str(self.folder), start=self.start, checks=self.checks)
        return Subject(
            artifact=patch,
            output=Output.model_validate({"kind": "patch", **output}, strict=False),
            workplace=place,
        )

    def patch(self, changes: Files) -> str:
        """Return the patch that makes these changes; None takes a file away."""
        tree = self.repository.tree_of(self.start)
        files = {
            path: held if held is None or isinstance(held, FileData) else FileData(as_bytes(held))
            for path, held in changes.items()
        }
        return self.repository.patch(tree, self.repository.with_changes(tree, files))

    def found(self, gate: str, changes: Files | str, **output: Any) -> Finding:
        patch = changes if isinstance(changes, str) else self.patch(changes)
        return asyncio.run(find_gate(gate).check(self.subject(patch, **output)))

    def said(self, gate: str, changes: Files | str, **output: Any) -> str:
        finding = self.found(gate, changes, **output)
        assert finding.status == "failed"
        return "\n".join(each.message for each in finding.diagnostics)


def as_bytes(held: str | bytes) -> bytes:
    return held.encode() if isinstance(held, str) else held


@pytest.fixture
def shop(tmp_path: Path, swarm_home: Path) -> Shop:
    return shop_with(tmp_path, FILES)


def shop_with(tmp_path: Path, files: Mapping[str, str | bytes], *checks: str) -> Shop:
    repository = Repository(folder_of("run"))
    repository.make()
    start = repository.commit(tree_with(repository, files), (), "Base\n", 9)
    return Shop(tmp_path / "user" / "shop", repository, start, checks)


def raw(path: str, mode: str = "100644", line: str = "x") -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{line}\n"
    ) + ("\\ No newline at end of file\n" if mode == "120000" else "")


def test_a_patch_that_applies_passes(shop: Shop) -> None:
    changes: Files = {
        "src/a.py": "x = 2\n",
        "é b.txt": "new\r\n",
        "tool": FileData(b"#!/bin/sh\n", executable=True),
        "picture.png": b"\x89PNG\0",
        "tests/test_a.py": None,
    }
    assert shop.found("applies", changes).status == "passed"


@pytest.mark.parametrize("patch", ["", " \n", "no patch", "diff --git a/x b/x\n"])
def test_what_changes_nothing_fails(shop: Shop, patch: str) -> None:
    finding = shop.found("applies", patch)
    assert (finding.status, finding.category) == (
        "failed",
        Category.FORMAT if patch.strip() else Category.LOGIC,
    )


def test_a_patch_for_other_files_fails_with_the_place(shop: Shop) -> None:
    other = shop.patch({"src/a.py": "x = 3\n"}).replace("-x = 1", "-x = 9")
    assert "src/a.py: patch does not apply" in shop.said("applies", other)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        (raw("../x"), "can't be applied"),
        (raw(".git/config"), "can't be applied"),
        (raw(".env"), "holds secrets"),
        (raw("a\\b"), "character"),
        (raw('"a/\\377"').replace('a/"a', '"a/a').replace('b/"a', '"b/a'), "character"),
        (raw("x.log"), "git ignores it"),
        (raw("build/x"), "git ignores it"),
        (raw("sub", "160000", f"Subproject commit {'1' * 40}"), "a submodule may not be changed"),
        (raw("link", "120000", "/etc/passwd"), "a link that leads out"),
        (raw("src/link", "120000", "../../x"), "a link that leads out"),
        (raw("src/link", "120000", "a/../../x"), "a link that leads out"),
        (raw("src/link", "120000", "link/.."), "a link that leads out"),
    ],
)
def test_a_change_that_no_patch_may_make_fails(shop: Shop, patch: str, why: str) -> None:
    assert why in shop.said("applies", patch)


@pytest.mark.parametrize("target", ["a.py", "../src/a.py", "./a.py", "..", "../nothing"])
def test_a_link_that_stays_inside_passes(shop: Shop, target: str) -> None:
    assert shop.found("applies", raw("src/link", "120000", target)).status == "passed"


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (FileData(b"\0", executable=True), "a program that nobody can read"),
        (b"\x7fELF\0", "a program that nobody can read"),
        (b"\0" * (600 << 10), "a binary file of over 524,288 bytes"),
        (b"x\n" * (LARGEST_FILE // 2 + 1), "it has over 4,194,304 bytes"),
    ],
)
def test_a_file_that_nobody_can_read_fails(shop: Shop, held: bytes | FileData, why: str) -> None:
    if isinstance(held, bytes) and len(held) > LARGEST_FILE:
        data = held.decode()
        lines = data.count("\n")
        body = "".join(f"+{line}\n" for line in data.splitlines())
        head = "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n"
        assert why in shop.said("applies", f"{head}@@ -0,0 +1,{lines} @@\n{body}")
    else:
        assert why in shop.said("applies", {"new": held})


def test_a_patch_changes_only_what_it_may(shop: Shop) -> None:
    both: Files = {"src/a.py": "x = 2\n", "tests/test_a.py": "y\n"}
    said = shop.said("applies", both, only=["src/**"])
    assert said == "tests/test_a.py: the patch may only change src/**"
    allowed = {"only": ["src/**"], "may_change": ["tests/**"]}
    assert shop.found("applies", both, **allowed).status == "passed"


def test_a_file_that_was_ignored_and_is_gits_may_be_changed(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, {**FILES, "kept.log": "1\n"})
    assert shop.found("applies", {"kept.log": "2\n"}).status == "passed"


def test_a_patch_without_a_workspace_is_no_fault_of_its() -> None:
    subject = Subject(artifact="x", output=Output(kind="patch"))
    with pytest.raises(GateError, match="A patch needs a workspace"):
        asyncio.run(find_gate("applies").check(subject))


KEY = "AKIA" + "IOSFODNN7ABCDEFG"


def test_a_key_that_a_patch_adds_fails_and_one_that_was_there_does_not(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, {"old.py": f"key = '{KEY}'\n"})
    assert shop.found("secrets", {"old.py": f"key = '{KEY}'\ny = 1\n"}).status == "passed"
    said = shop.said("secrets", {"new.py": f"key = '{KEY}'\n"})
    assert "new.py" in said
    assert KEY not in said


@pytest.mark.parametrize("gate", ["secrets", "tests-kept", "project-lint"])
def test_what_does_not_apply_fails_on_its_format(shop: Shop, gate: str) -> None:
    assert shop.found(gate, "no patch").category is Category.FORMAT


def test_a_test_that_is_deleted_fails_unless_it_may_be_changed(shop: Shop) -> None:
    gone: Files = {"tests/test_a.py": None}
    assert "tests/test_a.py" in shop.said("tests-kept", gone)
    assert shop.found("tests-kept", gone, may_change=["tests/**"]).status == "passed"
    assert shop.found("tests-kept", {"src/a.py": "x = 2\n"}).status == "passed"


CHECK = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python -m pytest -q -p no:cacheprovider"


def test_checks_pass_as_they_did_or_are_told(tmp_path: Path) -> None:
    files = {**FILES, "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n"}
    shop = shop_with(tmp_path, files, CHECK)
    assert shop.found("check", {"src/b.py": "y = 1\n"}).status == "passed"
    finding = shop.found("check", {"src/a.py": "x = 2\n"})
    assert (finding.status, finding.category) == ("failed", Category.CODE)
    assert "test_x: it passed before, and now it is failed" in finding.diagnostics[0].message


def test_checks_of_a_tree_are_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = shop_with(tmp_path, FILES, "true")
    runs: list[object] = []
    real = judging.execute

    async def counted(files: Path, *args: Any, **more: Any) -> Any:
        runs.append(files)
        return await real(files, *args, **more)

    monkeypatch.setattr(judging, "execute", counted)
    for text in ("1", "1", "2"):
        assert shop.found("check", {"new": text}).status == "passed"
    assert len(runs) == 3
    (stored, *_) = (shop.repository.folder / "checks").iterdir()
    stored.write_text("damaged")
    for text in ("1", "2"):
        assert shop.found("check", {"new": text}).status == "passed"
    assert len(runs) == 4


def test_without_checks_there_is_nothing_to_pass(shop: Shop) -> None:
    assert shop.found("check", {"new": "1"}).status == "skipped"


def test_checks_that_end_what_runs_them_say_nothing_about_the_patch(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, FILES, "kill -9 $PPID")
    with pytest.raises(GateError, match="are not completed without the patch"):
        shop.found("check", {"new": "1"})


RUFF = {"ruff.toml": "line-length = 60\n", "old.py": "import os\nx=1\n", "new.txt": "x=1\n"}


def test_only_what_the_formatter_newly_finds_fails(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, RUFF)
    assert shop.found("project-format", {"old.py": "import os\nx=2\n"}).status == "passed"
    said = shop.said("project-format", {"old.py": "import os\nx=2\n", "-n w.py": "x=1\n"})
    assert said.startswith("-n w.py")
    assert "old.py" not in said
    assert "syntax" in shop.said("project-format", {"new.py": "def f(:\n"})


def test_only_what_the_linter_newly_finds_fails(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, RUFF)
    assert shop.found("project-lint", {"old.py": "x = 2\nimport os\n"}).status == "passed"
    said = shop.said("project-lint", {"old.py": "import os\nimport sys\n"})
    assert "sys" in said
    assert "os" not in said.replace("`sys`", "")


def test_a_patch_without_python_or_a_project_without_the_tool_is_not_checked(shop: Shop) -> None:
    assert shop.found("project-lint", {"new.txt": "x"}).status == "skipped"
    assert shop.found("project-format", {"new.py": "x=1\n"}).status == "skipped"
    assert shop.found("project-types", {"new.py": "x: int = ''\n"}).status == "skipped"


def test_a_tool_that_the_environment_lacks_is_named(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, {"mypy.ini": "[mypy]\n"})
    finding = shop.found("project-types", {"new.py": "x: int = ''\n"})
    assert finding.status == "skipped"
    assert "mypy isn't in the project's environment" in finding.diagnostics[0].message


@pytest.mark.slow
def test_only_what_the_type_checker_newly_finds_fails(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, {"pyrightconfig.json": "{}", "old.py": "x: int = ''\n"})
    said = shop.said("project-types", {"old.py": "\nx: int = ''\n", "new.py": "y: str = 1\n"})
    assert said.startswith("new.py:1: error:")
    assert "old.py" not in said


def test_a_gate_leaves_the_repository_and_its_folder_as_they_were(shop: Shop) -> None:
    before = contents(shop.repository, shop.start)
    shop.found("applies", {"new": "1"})
    assert contents(shop.repository, shop.start) == before
    assert not shop.folder.exists()
