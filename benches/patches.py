"""Gates over patches of a project: which wrong ones pass, and which right ones are refused."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))
from git_folders import committed
from patch_corpus import RIGHT, WRONG, Edit, changed_files
from patch_project import write_base
from prefect_swarm.gates import Subject, build_pipeline, run_pipeline
from prefect_swarm.gates.patch.gates import PatchApplies
from prefect_swarm.plan.gate_names import DEFAULT_GATES
from prefect_swarm.plan.output import Output
from prefect_swarm.workspace.base import record_base
from prefect_swarm.workspace.place import Workplace
from prefect_swarm.workspace.repository import FileData, Repository, folder_of

__all__ = ["run"]

CHECK = "python -m pytest -q -p no:cacheprovider"
FILES = 10_000
ROUNDS = 5
MOST_WRONG = 1
HEAD = """\
## Patches

Which patches of a small project (four modules, 14 tests, one of which fails) do the gates of
patches let pass? Wrong ones weaken or skip tests, leave `only`, hide failures in `conftest.py`,
change how checks are configured, add programs, links out, keys, or break other tests; right ones
don't. All gates of the output kind `patch`, with one `--check` that runs pytest.

| Patches | Count | Passed | Refused | Goal |
|---|---:|---:|---:|---|"""
SIZE = f"""
What do git and the gate `applies` take on a repository of {FILES:,} files? The median of {ROUNDS}
rounds, next to a plain `cp -a` of the same files. A worktree is there while a command runs over it.

| | Seconds | Goal | MiB on disk | MiB after it |
|---|---:|---|---:|---:|"""


def run() -> str:
    """Judge all patches, and measure a large repository; return the tables."""
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-bench-") as home:
        os.environ["PREFECT_INTEGRATIONS_SWARM_HOME"] = f"{home}/home"
        return "\n".join([HEAD, *asyncio.run(_judge_all(Path(home))), SIZE, *_sizes(Path(home))])


async def _judge_all(home: Path) -> list[str]:
    folder = home / "project"
    folder.mkdir()
    write_base(folder)
    committed(folder, {})
    repository = Repository(folder_of("corpus"))
    base = record_base(repository, str(folder), int(time.time()))
    place = Workplace(run="corpus", folder=str(folder), start=base.commit, checks=(CHECK,))
    rows: list[str] = []
    for name, edits, is_right in (("wrong", WRONG, False), ("right", RIGHT, True)):
        passed = [each for each in edits if await _passes(repository, place, each, edits[each])]
        refused = len(edits) - len(passed)
        bad = refused if is_right else len(passed)
        shown = f"**{bad}**" if bad > MOST_WRONG else str(bad)
        cells = (len(passed), shown) if is_right else (shown, refused)
        goal = f"{'refused' if is_right else 'passed'}: ≤ {MOST_WRONG}"
        rows.append(f"| {name} | {len(edits)} | {cells[0]} | {cells[1]} | {goal} |")
    return rows


async def _passes(repository: Repository, place: Workplace, name: str, edit: Edit) -> bool:
    before = repository.tree_of(place.start)
    patch = repository.patch(before, _tree_of(repository, before, edit)) + _in_git(edit)
    output = Output(kind="patch", only=edit.only, may_change=edit.may_change)
    subject = Subject(artifact=patch, output=output, workplace=place)
    found = await run_pipeline(build_pipeline(DEFAULT_GATES["patch"]), subject)
    by = found.stopped_by
    print(f"{name}: {f'{by.gate}: {by.diagnostics[0]}'[:160] if by else 'passed'}", file=sys.stderr)
    return by is None


def _in_git(edit: Edit) -> str:
    """Return what an edit does to git's own folder, as a model would write it."""
    parts: list[str] = []
    for path, text in edit.files.items():
        if path.startswith(".git/") and isinstance(text, str):
            lines = text.splitlines()
            head = (
                f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
            )
            body = "".join(f"+{line}\n" for line in lines)
            parts.append(f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}")
    return "".join(parts)


def _tree_of(repository: Repository, before: str, edit: Edit) -> str:
    """Return the tree that an edit makes, by git's index where no tool would make it."""
    changes: Mapping[str, FileData | None] = {
        path: None if data is None else FileData(data, path in edit.executable)
        for path, data in changed_files(edit).items()
        if not path.startswith(".git/")
    }
    tree = repository.with_changes(before, changes)
    lines = [f"160000 {commit}\t{path}\0" for path, commit in edit.submodules.items()]
    for path, target in edit.links.items():
        blob = repository.git("hash-object", "-w", "--stdin", stdin=target.encode()).decode()
        lines.append(f"120000 {blob.strip()}\t{path}\0")
    with tempfile.TemporaryDirectory() as made:
        index = Path(made, "index")
        repository.git("read-tree", tree, index=index)
        text = "".join(lines).encode()
        repository.git("update-index", "-z", "--replace", "--index-info", index=index, stdin=text)
        return repository.git("write-tree", index=index).decode().strip()


def _sizes(home: Path) -> list[str]:
    folder = home / "large"
    for number in range(FILES):
        file = folder / f"package_{number // 100}" / f"module_{number % 100}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"def value_{number}():\n    return {number}\n" * 8, encoding="utf-8")
    committed(folder, {})
    repository = Repository(folder_of("large"))
    began = perf_counter()
    base = record_base(repository, str(folder), int(time.time()))
    repository.keep_packed(repository.pack(base.commit))
    recorded = perf_counter() - began
    base_mib = _mib(repository.folder)
    tree = repository.tree_of(base.commit)
    ours, theirs = (
        repository.commit(
            repository.with_changes(tree, {f"package_{n}/module_0.py": FileData(b"x = 1\n")}),
            (base.commit,),
            "change",
            base.at,
        )
        for n in (1, 2)
    )
    patch = repository.patch(tree, repository.tree_of(ours))
    place = Workplace(run="large", folder=str(folder), start=base.commit)
    subject = Subject(artifact=patch, output=Output(kind="patch"), workplace=place)

    times: dict[str, list[float]] = {name: [] for name in ("copy", "out", "merge", "applies")}
    out_mib = left_mib = 0.0
    for number in range(ROUNDS):
        start = perf_counter()
        subprocess.run(["cp", "-a", str(folder), str(home / f"copy{number}")], check=True)
        times["copy"].append(perf_counter() - start)
        start = perf_counter()
        with repository.checked_out(tree) as made:
            times["out"].append(perf_counter() - start)
            out_mib = _mib(made)
        left_mib = _mib(repository.folder / "trees")
        start = perf_counter()
        assert repository.merged(ours, theirs, base.at + number).commit
        times["merge"].append(perf_counter() - start)
        start = perf_counter()
        assert asyncio.run(PatchApplies().check(subject)).status == "passed"
        times["applies"].append(perf_counter() - start)
    shown = {name: f"{median(found):.2f}" for name, found in times.items()}
    marked = {name: f"**{text}**" if float(text) > 0.5 else text for name, text in shown.items()}
    return [
        f"| the base is recorded, once a run | {recorded:.2f} | | {base_mib:.1f} | |",
        f"| a worktree | {marked['out']} | ≤ 0.5 | {out_mib:.1f} | {left_mib:.1f} |",
        f"| a merge | {marked['merge']} | ≤ 0.5 | | |",
        f"| the gate `applies` | {marked['applies']} | ≤ 0.5 | | |",
        f"| `cp -a` | {shown['copy']} | | {_mib(folder) - _mib(folder / '.git'):.1f} | |",
    ]


def _mib(folder: Path) -> float:
    """Return what a folder takes on the disk."""
    blocks = (path.lstat().st_blocks for path in folder.rglob("*") if not path.is_dir())
    return 512 * sum(blocks) / (1 << 20)


if __name__ == "__main__":
    print(run())
