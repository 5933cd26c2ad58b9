"""Killed at any moment of a run that changes files: no patch is lost, and no change made twice.

Two steps change a user's files side by side, a third one goes on from both. Each kill ends the
process at once; the calls of git that it had begun live on.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from git_folders import as_it_lies, committed, git, made, tree_with, write_files
from killable import Killable, Story, killable, killed_often
from prefect_swarm.plan.task_ir import parse_plan
from prefect_swarm.store.filed_run import FiledRun
from prefect_swarm.store.workspace import stored_patch
from prefect_swarm.toolsets.journal import CallJournal
from pydantic import BaseModel
from scripted_edits import Call

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("prefect_server", "swarm_home")]

COMMITTED = {
    "shop/__init__.py": "",
    "shop/price.py": "def total(prices):\n    return sum(prices) + 1\n",
    "shop/stock.py": "def left(stock, sold):\n    return stock + sold\n",
    "CHANGES": "opened\n",
    ".gitignore": "*.pyc\n__pycache__/\n*.log\n",
}
UNCOMMITTED = {
    "shop/price.py": "def total(prices):\n    # 1 too much?\n    return sum(prices) + 1\n",
    "notes.txt": "mine\n",
    "shop.log": "ignored\n",
}
PRICE, STOCK, REPORT = "shop/price.py", "shop/stock.py", "shop/report.py"
CHANGES: dict[str, dict[str, str]] = {
    "S1": {PRICE: "def total(prices):\n    # in cents\n    return sum(prices)\n"},
    "S2": {
        STOCK: "def left(stock, sold):\n    return stock - sold\n",
        "CHANGES": "opened\nstock is right\n",
    },
    "S3": {
        PRICE: "def total(prices):\n    # in whole cents\n    return sum(prices)\n",
        REPORT: 'def line(name, price):\n    return f"{name}: {price}"\n',
    },
}
"""What the files hold after each step."""
EDITS: dict[str, list[Call]] = {
    "do S1": [
        ("read", {"path": PRICE}),
        ("edit", {"path": PRICE, "old": "sum(prices) + 1", "new": "sum(prices)"}),
        ("edit", {"path": PRICE, "old": "1 too much?", "new": "in cents"}),
    ],
    "do S2": [
        ("read", {"path": STOCK}),
        ("edit", {"path": STOCK, "old": "stock + sold", "new": "stock - sold"}),
        # A second time it would be there twice.
        ("run", {"command": "echo stock is right >> CHANGES"}),
    ],
    "do S3": [
        ("edit", {"path": PRICE, "old": "in cents", "new": "in whole cents"}),
        ("write", {"path": REPORT, "content": CHANGES["S3"][REPORT]}),
        ("read", {"path": "CHANGES"}),
    ],
}
KEPT = ("git", "trees", "checks")
"""What a run keeps of its workspace: its repository, and what its checks came to."""
PLAN = parse_plan(
    {
        "objective": "Put the shop right",
        "agents": [{"name": "Engineer", "system_prompt": "You change code.", "tier": "worker"}],
        "steps": [
            {
                "id": step,
                "agent": "Engineer",
                "prompt": f"do {step}",
                "depends_on": needs,
                "output": {"kind": "patch"},
            }
            for step, needs in (("S1", []), ("S2", []), ("S3", ["S1", "S2"]))
        ],
    }
)


class Answers(BaseModel):
    """What calls that change the files have answered, by their keys."""

    answers: dict[str, str]


@cache
def patches() -> Mapping[str, str]:
    """Return the patch of each step, and that of all by the name ""."""
    base = {path: held for path, held in {**COMMITTED, **UNCOMMITTED}.items() if "log" not in path}
    both = {**base, **CHANGES["S1"], **CHANGES["S2"]}
    pairs = {
        "": (base, {**both, **CHANGES["S3"]}),
        "S1": (base, {**base, **CHANGES["S1"]}),
        "S2": (base, {**base, **CHANGES["S2"]}),
        "S3": (both, {**both, **CHANGES["S3"]}),
    }
    with TemporaryDirectory() as folder:
        repository = made(Path(folder, "made"))
        return {
            name: repository.patch(tree_with(repository, before), tree_with(repository, after))
            for name, (before, after) in pairs.items()
        }


@dataclass
class Patches(Story):
    """A run that makes three patches; of two steps at once a kill costs each its call."""

    lost: ClassVar[int] = 2
    before: dict[str, tuple[object, ...]] = field(default_factory=dict)
    status: bytes = b""
    stored: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__post_init__()
        shop = committed(self.shop, COMMITTED)
        write_files(shop, UNCOMMITTED)
        git(shop, "add", PRICE)
        self.status = git(shop, "status", "--porcelain")
        self.before = as_it_lies(shop)

    @property
    def shop(self) -> Path:
        return self.folder / "shop"

    def next_order(self) -> dict[str, Any] | None:
        script = {"edits": EDITS}
        if not (runs := self.begun()):
            plan, check = PLAN.model_dump(mode="json"), "grep -q total shop/price.py"
            start = {"do": "start", "plan": plan, "workspace": str(self.shop), "checks": [check]}
            return start | script
        if runs[-1].result() is None:
            return {"do": "resume", "run": runs[-1].run_id, **script}
        self.check_patches(runs[-1])
        self.check_nothing_is_left()
        return None

    # --- at any moment ----------------------------------------------------------------------------

    def check(self) -> None:
        """Assert that files of the user are as they were, and what was stored was made once."""
        assert as_it_lies(self.shop) == self.before, self.killed_at
        done = Counter([*self.lines("calls"), *self.lines("made")])
        names = {name for run in self.begun() for name in stored_names(run)}
        again = {name: done[name] for name, times in self.stored.items() if done[name] != times}
        assert not again, self.killed_at
        self.stored = Counter({name: done[name] for name in names})
        made_again = Counter(self.lines("made"))
        assert made_again.total() - len(made_again) <= self.lost * len(self.kills), self.killed_at

    # --- at the end -------------------------------------------------------------------------------

    def check_patches(self, run: FiledRun) -> None:
        """Assert that the run has all that it has where nothing is killed."""
        result = run.result()
        assert result is not None
        assert (result.status, result.problem) == ("completed", ""), self.killed_at
        assert result.answer == patches()[""], self.killed_at
        # In the test's own home, so that it is made of what is stored, and of nothing else.
        assert {name: stored_patch(run, name) for name in patches()} == patches(), self.killed_at
        attempts = [len(step.attempts) for step in result.steps]
        assert attempts == [1, 1, 1], self.killed_at
        called = [[call.tool for call in step.attempts[0].calls] for step in result.steps]
        assert called == [[tool for tool, _ in calls] for calls in EDITS.values()], self.killed_at
        stored = [changes_of(run, journal) for journal in sorted(run.call_journals("calls"))]
        counts = [sum(tool != "read" for tool, _ in calls) for calls in EDITS.values()]
        assert [len(answers) for answers in stored] == counts, self.killed_at
        failed = [answer for answers in stored for answer in answers if not is_good(answer)]
        assert not failed, self.killed_at

    def check_nothing_is_left(self) -> None:
        """Assert that the user's repository is as it was, and all copies of its files are gone."""
        assert git(self.shop, "status", "--porcelain") == self.status, self.killed_at
        copies = [*(self.folder / "temporary").iterdir()]
        for folder in (self.folder / "swarm" / "workspaces").iterdir():
            copies += (path for path in folder.iterdir() if path.name not in KEPT)
            copies += (folder / "trees").glob("*")
            copies += (folder / "git").rglob("tmp_*")
        assert not copies, self.killed_at


def changes_of(run: FiledRun, journal: str) -> list[str]:
    """Return what the calls of an attempt that change files have answered, as it is stored."""
    found = run.tool_state(f"{journal}-workspace", Answers)
    return [*found.answers.values()] if found else []


def is_good(answer: str) -> bool:
    return any(words in answer for words in ("is changed", "is new", "[exit code 0]"))


def stored_names(run: FiledRun) -> Iterable[str]:
    """Name the answers of models and the calls over files that a run has stored."""
    for journal in run.call_journals("calls"):
        attempt, _, asked = journal.rpartition("-")
        prompt = f"do {attempt.partition('.')[0]}"
        state = CallJournal(run, attempt, asked).read()
        replies = sum(message["kind"] == "response" for message in state.messages)
        yield from (f"{prompt} after {number}" if number else prompt for number in range(replies))
        yield from (f"{prompt} call {key.ordinal}" for key in state.committed)
        # A change is stored with its answer, before the journal says that it is over.
        changes = [n for n, (tool, _) in enumerate(EDITS[prompt], 1) if tool != "read"]
        yield from (f"{prompt} call {n}" for n in changes[: len(changes_of(run, journal))])
    for step in run.finished_steps():
        made = len(EDITS[f"do {step}"])
        yield f"do {step}"
        yield from (f"do {step} after {number}" for number in range(1, made + 1))
        yield from (f"do {step} call {number}" for number in range(1, made + 1))


@pytest.fixture(scope="module")
def runs(prefect_server: None) -> Iterator[Killable]:
    with killable() as made:
        yield made


@pytest.mark.parametrize(
    ("moment", "again"),
    [
        # A call has been made, and nothing says so yet.
        ("made do S2 call 3", 0),
        # A patch is stored, but not that it was taken. Then as S3 begins, or before.
        ("write python/workspace-S1/calls.json, done", 500),
        # The second patch is merged with the first, and git goes on alone.
        ("begun git merge-tree", 0),
        *(
            pytest.param(moment, 0, marks=pytest.mark.exhaustive)
            for moment in (
                "git add",
                "begun git index-pack",
                "write python/workspace/calls.json",
                "calls do S1 after 2",
                "making do S2 call 3",
                "begun git hash-object",
                "begun git checkout-index",
                "write python/workspace-S2/calls.json",
                "write outputs/S3.txt",
            )
        ),
    ],
)
def test_killed_as_a_change_is_made_or_a_patch_taken_it_goes_on_from_there(
    runs: Killable, tmp_path: Path, moment: str, again: int
) -> None:
    story = Patches(runs, tmp_path / "run", moment, again=again)
    story.play()
    assert story.kills[0] == moment


@pytest.mark.exhaustive
def test_killed_at_any_moment_and_soon_again_no_patch_is_lost_and_no_change_made_twice(
    runs: Killable, tmp_path: Path
) -> None:
    def made(kill_at: int, folder: Path) -> Story:
        again = random.Random(kill_at).randrange(600) if kill_at else 0  # noqa: S311 - no secret
        return Patches(runs, folder, kill_at, again=again)

    killed_often(made, tmp_path)
