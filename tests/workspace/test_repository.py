"""Trees, patches, merges and searches of a run's own repository, with real git."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import pytest
from git_folders import contents, made, tree_with
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prefect_swarm.errors import WorkspaceError
from prefect_swarm.workspace.git import GitFailedError
from prefect_swarm.workspace.repository import (
    LARGEST_PATCH,
    FileData,
    Merged,
    PatchError,
    Repository,
)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return made(tmp_path_factory.mktemp("run") / "workspace")


pieces = st.sampled_from(["a\n", "b\n", "\n", "- x\n", "+ y\n", "-- \n", "@@ -1 +1 @@\n", "é\n"])
texts = st.lists(pieces, max_size=12).map("".join)
held = st.one_of(
    texts.map(str.encode),
    texts.map(lambda text: text.encode() + b"no end"),
    texts.map(lambda text: text.replace("\n", "\r\n").encode()),
    texts.map(lambda text: text.encode("latin-1")),
    st.binary(max_size=40),
    st.just(b"a" * 9000 + b"\0"),
)
names = st.sampled_from(
    ["a", "b.txt", "c d", 'q"uote', "n\new", "t\tab", "é", "\udcff", "*", "[b]", "#c", "!d", "\\e"]
)
trees = st.dictionaries(
    st.lists(names, min_size=1, max_size=2).map("/".join),
    st.builds(FileData, held, st.booleans()),
    max_size=5,
).map(
    lambda files: {p: f for p, f in files.items() if not any(o.startswith(f"{p}/") for o in files)}
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(trees, trees)
def test_a_patch_makes_of_the_one_tree_the_other(
    repository: Repository, before: Mapping[str, FileData], after: Mapping[str, FileData]
) -> None:
    one, other = tree_with(repository, before), tree_with(repository, after)
    patch = repository.patch(one, other)
    if one == other:
        assert patch == ""
    else:
        assert repository.applied(one, patch.encode().decode()) == other


def test_a_tree_has_what_was_written_and_no_more(repository: Repository) -> None:
    tree = tree_with(repository, {"a/b": FileData(b"x\0", executable=True), "c": "text"})
    entries = repository.entries(tree)
    assert {path: (each.kind, each.size) for path, each in entries.items()} == {
        "a/b": ("executable", 2),
        "c": ("file", 4),
    }
    assert repository.read(tree, "a/b") == b"x\0"
    assert repository.read(tree, "a") is None
    assert repository.read(tree, "nothing") is None
    assert [*repository.entries(tree, ("a",))] == ["a/b"]


def test_a_file_takes_the_place_of_a_folder_and_the_other_way_round(
    repository: Repository,
) -> None:
    tree = tree_with(repository, {"a/b": "1", "c": "2"})
    after = repository.with_changes(tree, {"a": FileData(b"3"), "c/d": FileData(b"4")})
    assert contents(repository, after) == {"a": b"3", "c/d": b"4"}


def test_what_is_taken_away_is_gone(repository: Repository) -> None:
    tree = tree_with(repository, {"a": "1", "b": "2"})
    assert contents(repository, repository.with_changes(tree, {"a": None})) == {"b": b"2"}
    assert repository.with_changes(tree, {"nothing": None}) == tree


def test_changes_are_told_by_path_with_both_sides(repository: Repository) -> None:
    one = tree_with(repository, {"a": "1", "b": "2", "c": "3"})
    other = tree_with(repository, {"a": "1", "b": FileData(b"2", executable=True), "d": "4"})
    found = {each.path: each for each in repository.changes(one, other)}
    assert [*found] == ["b", "c", "d"]
    assert [each and each.kind for each in (found["b"].before, found["b"].after)] == [
        "file",
        "executable",
    ]
    assert (found["c"].after, found["d"].before) == (None, None)


def test_a_file_that_once_was_binary_is_later_shown_as_text(repository: Repository) -> None:
    binary, text = (tree_with(repository, {"x": held}) for held in (b"\xff\n", "a\n"))
    assert "GIT binary patch" in repository.patch(binary, text)
    other = tree_with(repository, {"x": "b\n"})
    assert "-a\n+b\n" in repository.patch(text, other)


def test_a_patch_that_nobody_can_read_is_refused(repository: Repository) -> None:
    empty = tree_with(repository, {})
    large = tree_with(repository, {"a": "x" * 99 + "\n", "b": "y\n" * (LARGEST_PATCH // 2)})
    with pytest.raises(WorkspaceError, match="is the most"):
        repository.patch(empty, large)
    # All patches together may have more.
    assert len(repository.patch(empty, large, most=None)) > LARGEST_PATCH


def new_file(path: str) -> str:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n"
    )


@pytest.mark.parametrize(
    "path", ["../x", "a/../../x", "/etc/x", ".git/config", "a/.git/x", ".GIT/config", "link/x"]
)
def test_no_patch_leads_out(repository: Repository, path: str) -> None:
    start = repository.applied(
        tree_with(repository, {"a/b": "1"}),
        "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n"
        "@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n",
    )
    try:
        after = repository.applied(start, new_file(path))
    except PatchError:
        return
    # A slash too many is none, as git reads it.
    assert path == "/etc/x"
    assert [*repository.entries(after)] == ["a/b", "etc/x", "link"]


@pytest.mark.parametrize("patch", ["", "hello", "diff --git a/x b/x\n", "\0", "--- a/x\n+++ b/x\n"])
def test_what_is_no_patch_is_refused(repository: Repository, patch: str) -> None:
    with pytest.raises(PatchError, match="can't be applied"):
        repository.applied(tree_with(repository, {"x": "1\n"}), patch)


def test_a_patch_whose_lines_are_others_is_refused_with_the_place(repository: Repository) -> None:
    one, other = (tree_with(repository, {"x": f"{held}\n"}) for held in "ab")
    patch = repository.patch(one, other)
    with pytest.raises(PatchError, match=r"x: patch does not apply"):
        repository.applied(other, patch)


@pytest.mark.parametrize("held", ["b\n", b"\xff\n"])
def test_a_patch_that_lost_its_last_line_end_is_applied(
    repository: Repository, held: str | bytes
) -> None:
    one, other = tree_with(repository, {"x": "a\n"}), tree_with(repository, {"x": held})
    assert repository.applied(one, repository.patch(one, other).strip()) == other


def commit_of(repository: Repository, files: Mapping[str, str], *parents: str) -> str:
    return repository.commit(tree_with(repository, files), parents, "m\n", 7)


def test_the_same_commit_made_twice_has_the_same_id(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = commit_of(repository, {"a": "1"})
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert commit_of(made(tmp_path / "other"), {"a": "1"}) == first
    assert repository.contains(first, first)


LINES = "".join(f"{n}\n" for n in range(20))


def test_changes_in_different_places_are_merged(repository: Repository) -> None:
    base = commit_of(repository, {"a": LINES, "b": "1\n"})
    ours = commit_of(repository, {"a": f"first\n{LINES}", "b": "1\n"}, base)
    theirs = commit_of(repository, {"a": f"{LINES}last\n"}, base)
    merged = repository.merged(ours, theirs, 9)
    assert merged.conflicts == ()
    assert contents(repository, merged.commit) == {"a": f"first\n{LINES}last\n".encode()}
    assert repository.merged(ours, theirs, 9) == merged


def test_changes_of_the_same_lines_conflict_and_are_named(repository: Repository) -> None:
    base = commit_of(repository, {"é a": "1\n", "b": "1\n", "c": "1\n"})
    ours = commit_of(repository, {"é a": "2\n", "b": "2\n", "c": "1\n"}, base)
    theirs = commit_of(repository, {"é a": "3\n", "c": "4\n"}, base)
    merged = repository.merged(ours, theirs, 9)
    assert (merged.commit, sorted(merged.conflicts)) == ("", ["b", "é a"])


def test_a_commit_merged_with_an_ancestor_is_itself(repository: Repository) -> None:
    base = commit_of(repository, {"a": "1"})
    later = commit_of(repository, {"a": "2"}, base)
    assert repository.merged(base, later, 9) == Merged(later)
    assert repository.merged(later, base, 9) == Merged(later)
    assert not repository.contains(base, later)


def test_what_was_packed_is_the_same_elsewhere(repository: Repository, tmp_path: Path) -> None:
    commit = commit_of(repository, {"a/b": "1", "c": "2"})
    other = made(tmp_path / "other")
    assert not other.has(commit)
    other.unpack(repository.pack(commit))
    assert contents(other, commit) == {"a/b": b"1", "c": b"2"}


def test_what_is_no_pack_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GitFailedError):
        made(tmp_path / "other").unpack(b"PACK\0\0\0\2nonsense")


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_what_is_checked_out_can_be_read_by_all_and_goes_with_its_last_reader(
    repository: Repository, umask: int
) -> None:
    tree = tree_with(repository, {"a/b": "1", "c": FileData(b"2", executable=True)})
    before = os.umask(umask)
    try:
        with repository.checked_out(tree) as folder:
            with repository.checked_out(tree) as same:
                assert same == folder
            found = {
                str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode)
                for path in (folder, *folder.rglob("*"))
            }
            assert found == {".": 0o755, "a": 0o755, "a/b": 0o644, "c": 0o755}
            assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        assert not folder.exists()
    finally:
        os.umask(before)


def test_a_reader_that_fails_leaves_nothing(repository: Repository) -> None:
    tree = tree_with(repository, {"a": "1"})
    with pytest.raises(KeyError), repository.checked_out(tree) as folder:
        raise KeyError
    assert not folder.exists()


def test_rules_of_a_tree_say_what_git_ignores(repository: Repository) -> None:
    tree = tree_with(
        repository,
        {".gitignore": "*.log\n!keep.log\n/build/\n", "a/.gitignore": FileData(b"x\n", True)},
    )
    asked = [
        "a.log",
        "b/c.log",
        "keep.log",
        "build/x",
        "a/x",
        "x",
        ":(top)y",
        ":z.log",
        "\udcff.log",
    ]
    assert repository.ignored(tree, asked) == {
        "a.log",
        "b/c.log",
        "build/x",
        "a/x",
        ":z.log",
        "\udcff.log",
    }
    assert repository.ignored(tree, []) == frozenset()
    assert repository.ignored(tree, ["c.py"]) == frozenset()


def found(
    repository: Repository, tree: str, pattern: str, **more: object
) -> list[tuple[str, int, str]]:
    options = {"literal": True, "most": 5, **more}
    hits = repository.search(tree, pattern, **options)  # pyright: ignore[reportArgumentType]
    return [(hit.path, hit.line, hit.text) for hit in hits]


SEARCHED = {
    "a:1:b.txt": "x\na.b:c\n",
    "d/e é.txt": "aXb:c\nüa.b\n",
    "f.bin": b"a.b\0",
    "-g": "a.b",
}


def test_a_text_is_found_as_it_is(repository: Repository) -> None:
    tree = tree_with(repository, SEARCHED)
    assert found(repository, tree, "a.b") == [
        ("-g", 1, "a.b"),
        ("a:1:b.txt", 2, "a.b:c"),
        ("d/e é.txt", 2, "üa.b"),
    ]


def test_an_expression_is_found_where_it_fits(repository: Repository) -> None:
    tree = tree_with(repository, SEARCHED)
    hits = found(repository, tree, "^a(.)b:", literal=False)
    assert [hit[:2] for hit in hits] == [("a:1:b.txt", 2), ("d/e é.txt", 1)]
    assert [hit[0] for hit in found(repository, tree, "a", paths=("d",))] == ["d/e é.txt"] * 2
    assert found(repository, tree, "--help") == []
    assert found(repository, tree, "a", paths=("nothing",)) == []


def test_no_more_lines_of_a_file_are_found_than_asked_for(repository: Repository) -> None:
    tree = tree_with(repository, {"a": "x\n" * 50})
    assert len(found(repository, tree, "x")) == 5


def test_an_expression_that_is_none_is_refused(repository: Repository) -> None:
    with pytest.raises(GitFailedError):
        found(repository, tree_with(repository, SEARCHED), "a(", literal=False)


def test_a_repository_that_was_removed_is_made_again(tmp_path: Path) -> None:
    repository = made(tmp_path / "run")
    repository.remove()
    assert not repository.is_there
    repository.make()
    assert contents(repository, tree_with(repository, {"a": "1"})) == {"a": b"1"}
