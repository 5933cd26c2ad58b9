"""What is stored of a run's workspace gives the same commits on another machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from git_folders import tree_with
from prefect_swarm.errors import RunDamagedError, WorkspaceError
from prefect_swarm.store.folder import RunFolder
from prefect_swarm.store.workspace import (
    TakenPatch,
    WorkspaceState,
    merge_all,
    message_of,
    open_state,
    open_workspace,
    patch_bases,
    store_state,
    take_patch,
    take_workspace,
    workspace_state,
)
from prefect_swarm.workspace.repository import Repository, folder_of
from run_workspaces import RunWorkspace, begun

pytestmark = pytest.mark.usefixtures("swarm_home")

FILES = {"a": "1\n", "b": "1\n", "c": "1\n"}


@pytest.fixture
def shop(tmp_path: Path, swarm_home: Path) -> RunWorkspace:
    return begun(tmp_path, {**FILES, "é d": b"\xff\0"})


def take(shop: RunWorkspace, step: str, path: str, text: str, *onto: str) -> TakenPatch:
    """Take a patch that gives a file another text, as a run does."""
    repository, run = shop.repository, shop.run
    state = workspace_state(run)
    assert state
    commits = (state.base.commit, *onto)
    start = merge_all(repository, commits, state.base.at).commit
    before = repository.tree_of(start)
    files = {name: repository.data(entry) for name, entry in repository.entries(before).items()}
    after = tree_with(repository, {**files, path: text})
    taken = TakenPatch(
        run=run.run_id,
        step=step,
        agent="Engineer",
        subject=f"Do {step}",
        onto=commits,
        commit="",
        whole="",
    )
    commit = repository.commit(after, (start,), message_of(taken), state.base.at)
    whole = repository.merged(state.whole, commit, state.base.at).commit
    taken = taken.model_copy(update={"commit": commit, "whole": whole})
    take_patch(run, state, taken, repository.patch(before, after))
    return taken


def test_another_machine_makes_the_same_commits(shop: RunWorkspace) -> None:
    first = take(shop, "S1", "a", "2\n")
    second = take(shop, "S2", "b", "\xff no end")
    third = take(shop, "S3", "c", "3\n", first.commit, second.commit)
    before = shop.held(third.whole)
    assert (before["a"], before["b"], before["c"]) == (b"2\n", "\xff no end".encode(), b"3\n")
    shop.forget()
    assert shop.repository.has(third.whole)
    assert shop.held(third.whole) == before
    assert all(shop.repository.has(each.commit) for each in (first, second, third))


def test_a_patch_was_made_on_those_that_it_needs_and_after_a_conflict_on_all(
    shop: RunWorkspace,
) -> None:
    first = take(shop, "S1", "a", "2\n")
    second = take(shop, "S2", "b", "b\n")
    take(shop, "S3", "c", "3\n", first.commit)
    take(shop, "S4", "d", "4\n", second.whole)
    assert patch_bases(workspace_state(shop.run)) == {
        "S1": frozenset(),
        "S2": frozenset(),
        "S3": {"S1"},
        "S4": {"S1", "S2"},
    }
    assert patch_bases(None) == {}


def test_a_run_takes_over_the_base_and_the_patches_that_stand(shop: RunWorkspace) -> None:
    first = take(shop, "S1", "a", "2\n")
    take(shop, "S2", "b", "b\n", first.commit)
    third = take(shop, "S3", "c", "3\n")
    other = RunFolder(shop.run_folder.with_name("run2"))
    take_workspace(shop.run, other, ["S2", "S3"])
    take_workspace(shop.run, other, ["S1"])
    repository, state = open_state(other)
    assert [each.step for each in state.taken] == ["S3"]
    assert state.taken[0].commit == third.commit
    entries = repository.entries(state.whole)
    assert repository.data(entries["a"]) == b"1\n"
    assert repository.data(entries["c"]) == b"3\n"


def test_a_run_goes_on_from_what_was_taken(shop: RunWorkspace) -> None:
    taken = take(shop, "S1", "a", "2\n")
    state = workspace_state(shop.run)
    assert state
    assert (state.whole, state.taken_of("S1"), state.taken_of("S2")) == (taken.whole, taken, None)
    assert shop.state.whole == shop.state.base.commit


def test_a_repository_that_lacks_the_last_patch_gets_it(shop: RunWorkspace) -> None:
    base = shop.repository.pack(shop.state.base.commit)
    taken = take(shop, "S1", "a", "2\n")
    shop.forget()
    other = Repository(folder_of(shop.run.run_id))
    other.make()
    other.unpack(base)
    assert not other.has(taken.whole)
    assert shop.held(taken.whole)["a"] == b"2\n"


def blob_of(shop: RunWorkspace, step: str) -> Path:
    """Return where the text of a step's patch is."""
    (found,) = [
        path
        for path in shop.run_folder.rglob(f"*workspace-{step}/*")
        if path.is_file() and not path.name.endswith(".json")
    ]
    return found


def test_a_patch_that_was_changed_is_damage(shop: RunWorkspace) -> None:
    take(shop, "S1", "a", "2\n")
    blob = blob_of(shop, "S1")
    blob.write_bytes(blob.read_bytes().replace(b"+2", b"+9"))
    shop.forget()
    with pytest.raises(RunDamagedError):
        open_workspace(shop.run)


@pytest.mark.parametrize("text", ["", "no patch", "diff --git a/x b/x\n"])
def test_a_patch_that_does_not_fit_is_damage(shop: RunWorkspace, text: str) -> None:
    first = take(shop, "S1", "a", "2\n")
    take_patch(shop.run, shop.state, first, text)
    shop.forget()
    with pytest.raises(RunDamagedError, match="S1"):
        open_workspace(shop.run)


def test_a_patch_that_gives_other_files_is_damage(shop: RunWorkspace) -> None:
    first = take(shop, "S1", "a", "2\n")
    repository = shop.repository
    before = repository.tree_of(shop.state.base.commit)
    other = repository.patch(before, tree_with(repository, FILES))
    take_patch(shop.run, shop.state, first, other)
    shop.forget()
    with pytest.raises(RunDamagedError, match="gives other files"):
        open_workspace(shop.run)


def test_a_patch_that_is_gone_is_damage(shop: RunWorkspace) -> None:
    taken = TakenPatch(
        run="r", step="S1", agent="A", subject="s", onto=("x",), commit="x", whole="x"
    )
    store_state(shop.run, shop.state.model_copy(update={"taken": (taken,)}))
    with pytest.raises(RunDamagedError):
        open_workspace(shop.run)


@pytest.mark.parametrize("data", [b"", b"nonsense", b"PACK\0\0\0\2\0\0\0\0"])
def test_a_base_that_is_no_pack_is_damage(shop: RunWorkspace, data: bytes) -> None:
    name = hashlib.sha256(data).hexdigest()
    changed = shop.state.model_copy(update={"pack": name})
    shop.run.write_tool_state("workspace", changed, {name: data})
    shop.forget()
    with pytest.raises(RunDamagedError):
        open_workspace(shop.run)


def test_a_run_without_a_workspace_says_so(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="has no workspace"):
        open_workspace(RunFolder(tmp_path / "runs" / "run2"))


def test_a_message_names_the_step_in_lines_that_nobody_can_forge() -> None:
    taken = TakenPatch(
        run="run1", step="S1", agent="A\nStep: S9", subject="Fix", onto=(), commit="", whole=""
    )
    lines = message_of(taken).splitlines()
    assert lines == ["Fix", "", "Agent: A Step: S9", "Step: S1", "Swarm-Run: run1"]


def test_what_is_stored_is_read_as_it_was_written(shop: RunWorkspace) -> None:
    state = shop.state.model_copy(update={"onto": {"S2": {2: ("x", "y")}}})
    store_state(shop.run, state)
    assert workspace_state(shop.run) == state
    assert WorkspaceState.model_validate_json(state.model_dump_json()) == state
