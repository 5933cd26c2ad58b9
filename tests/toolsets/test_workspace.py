"""The toolset `workspace` as a model calls it: with real git, files and the real sandbox."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from git_folders import as_it_lies
from prefect_swarm.errors import RunDamagedError
from prefect_swarm.gates.patch.judging import checked
from prefect_swarm.toolsets.catalogue import is_acting, is_idempotent, listed_tools
from prefect_swarm.toolsets.workspace import WorkspaceSource, patch_of
from prefect_swarm.workspace.repository import LARGEST_FILE
from quoted_texts import without_marks
from run_workspaces import RunWorkspace, begun
from toolset_calls import Calls, calls_of, conversation, in_loop

pytestmark = pytest.mark.usefixtures("swarm_home")

FILES: dict[str, str | bytes] = {
    "src/a.py": "def f():\n    return 1\n\n\ndef g():\n    return 1\n",
    "src/dos.txt": "one\r\ntwo\r\nthree\r\n",
    "README.md": "# Shop\n",
    "empty": "",
    "picture.png": b"\x89PNG\0\xff",
    ".gitignore": "*.log\nbuild/\n",
}


@pytest.fixture
def shop(tmp_path: Path, swarm_home: Path) -> RunWorkspace:
    return begun(tmp_path, FILES)


@dataclass
class Session:
    """A conversation: each call comes in an answer of its own."""

    calls: Calls
    number: int = 0

    async def does(self, tool: str, **arguments: Any) -> str:
        self.number += 1
        return await self.again(tool, **arguments)

    async def again(self, tool: str, **arguments: Any) -> str:
        """Make the last call as a process does that goes on after another was killed."""
        more = {"call_id": f"c{self.number}", "messages": conversation(self.number)}
        return without_marks(await self.calls.call(tool, **more, **arguments))

    async def fails(self, tool: str, **arguments: Any) -> str:
        self.number += 1
        return without_marks(await self.calls.failure(tool, **arguments))


@asynccontextmanager
async def session(
    shop: RunWorkspace, number: int = 0, *, changes: bool = True, seconds: float = 60.0
) -> AsyncGenerator[Session]:
    source = WorkspaceSource(seconds)
    async with calls_of(source, shop.use(changes=changes)) as calls:
        yield Session(calls, number)


def patch(shop: RunWorkspace) -> str:
    return patch_of(shop.use())


@pytest.mark.parametrize("changes", [True, False])
def test_who_makes_no_patch_reads_and_runs_commands(shop: RunWorkspace, changes: bool) -> None:
    source = WorkspaceSource()
    tools = asyncio.run(listed_tools(source, shop.use(changes=changes), 10))
    reading = {"list", "search", "read"}
    assert set(tools) == reading | ({"edit", "write", "delete", "run"} if changes else {"run"})
    assert all(is_idempotent(tool) and not is_acting(tool) for tool in tools.values())
    assert {name for name, tool in tools.items() if tool.sequential} == set(tools) - reading


@in_loop
async def test_files_are_listed_with_their_sizes(shop: RunWorkspace) -> None:
    async with session(shop) as files:
        assert "src/a.py (46 bytes)" in (await files.does("list")).splitlines()
        assert await files.does("list", folder="src") == (
            "src/a.py (46 bytes)\nsrc/dos.txt (17 bytes)"
        )
        assert await files.does("list", folder="./src/", pattern="*.py") == "src/a.py (46 bytes)"
        assert await files.does("list", pattern="src/**/*.txt") == "src/dos.txt (17 bytes)"
        assert await files.does("list", folder=".", pattern="*.md") == "README.md (7 bytes)"
        assert await files.fails("list", folder="nothing") == (
            "No file is there: folder nothing, pattern *."
        )
        assert "can't be used" in await files.fails("list", folder="../x")
        assert "more than 10 stars" in await files.fails("list", pattern="*a" * 40)


@in_loop
async def test_a_long_list_is_cut_with_what_to_do(tmp_path: Path) -> None:
    shop = begun(tmp_path, {f"f{n}": "" for n in range(250)})
    async with session(shop) as files:
        lines = (await files.does("list")).splitlines()
        assert (len(lines), lines[-1]) == (201, "[50 more: name a folder or a pattern]")


@in_loop
async def test_lines_are_found_with_their_places(shop: RunWorkspace) -> None:
    async with session(shop) as files:
        assert await files.does("search", text="return 1") == (
            "src/a.py:2:     return 1\nsrc/a.py:6:     return 1"
        )
        assert await files.does("search", text="^def (f|h)", regular=True) == "src/a.py:1: def f():"
        assert await files.does("search", text="tw", folder="src/dos.txt") == "src/dos.txt:2: two"
        assert await files.fails("search", text="(f|h)") == "Nothing is found: (f|h)."
        assert await files.fails("search", text="return 1", folder="README.md") == (
            "Nothing is found: return 1."
        )
        assert "can't be looked for" in await files.fails("search", text="a(", regular=True)
        for empty in ("", " ", "a\nb"):
            assert "one line" in await files.fails("search", text=empty)


@in_loop
async def test_what_is_found_is_bounded(tmp_path: Path) -> None:
    many = {f"f{n}": f"x{'y' * 5000}\n" * 40 for n in range(5)}
    async with session(begun(tmp_path, many)) as files:
        found = (await files.does("search", text="x")).splitlines()
        assert (len(found), found[-1]) == (61, "[140 more lines: name a folder, or look for more]")
        assert max(map(len, found)) < 420


@in_loop
async def test_lines_of_a_file_are_read_with_numbers(shop: RunWorkspace) -> None:
    async with session(shop) as files:
        assert await files.does("read", path="src/a.py", start_line=2, lines=1) == (
            "src/a.py, lines 2 to 2 of 6:\n    2      return 1"
        )
        whole = await files.does("read", path="./README.md")
        assert whole == "README.md, lines 1 to 1 of 1:\n    1  # Shop"
        beyond = await files.does("read", path="README.md", start_line=99, lines=-5)
        assert beyond == whole
        assert await files.does("read", path="empty") == "empty is empty."
        dos = await files.does("read", path="src/dos.txt")
        assert dos.splitlines()[0] == "src/dos.txt, lines 1 to 3 of 3:"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("picture.png", "picture.png is no text in UTF-8: 6 bytes."),
        ("nothing", "There is no file nothing. Use a path that list or search shows."),
        ("src", "There is no file src. Use a path that list or search shows."),
        ("../x", "'../x' can't be used: it isn't a plain path below the workspace"),
        ("/etc/passwd", "'/etc/passwd' can't be used: it isn't a plain path"),
        (".git/config", "'.git/config' can't be used: .git is git's own."),
        (".env", "'.env' can't be used: a file of that name holds secrets."),
        ("", "'' can't be used: it is empty or too long."),
    ],
)
@in_loop
async def test_what_cannot_be_read_is_told(shop: RunWorkspace, path: str, why: str) -> None:
    async with session(shop) as files:
        assert (await files.fails("read", path=path)).startswith(why)


@in_loop
async def test_long_lines_and_large_files_are_read_in_part(tmp_path: Path) -> None:
    large = "0123456789\n" * (1 << 19) + "end\n"
    shop = begun(tmp_path, {"long": f"{'x' * 50_000}\nlast\n", "large": large})
    async with session(shop) as files:
        long = await files.does("read", path="long")
        assert "x[…]" in long
        assert len(long) < 17_000
        assert "last" in await files.does("read", path="long", start_line=2)
        some = await files.does("read", path="large", start_line=1000, lines=9999)
        assert some.startswith("large, lines 1000 to 1399 of 524289:")
        assert "is the most" in await files.fails("edit", path="large", old="end", new="END")


@in_loop
async def test_a_text_that_is_there_once_is_replaced(shop: RunWorkspace) -> None:
    async with session(shop) as files:
        old = "def f():\n    return 1"
        answer = await files.does("edit", path="src/a.py", old=old, new="def f():\n    return 2")
        assert answer == "src/a.py is changed: 46 bytes."
        assert "    2      return 2" in await files.does("read", path="src/a.py")
    assert "-    return 1\n+    return 2\n" in patch(shop)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("", "x", "The old text is empty. Use write to make a new file."),
        ("return 1", "x", "src/a.py has that text more than once, in lines 2, 6."),
        ("return 3", "x", "src/a.py doesn't have that text exactly"),
        ("def f():\n  return 1", "x", "Its first line is in line 1, what follows differs."),
        ("def f", "def f", "The new text is the old one: nothing would change."),
    ],
)
@in_loop
async def test_an_edit_that_is_not_exact_is_told(
    shop: RunWorkspace, old: str, new: str, why: str
) -> None:
    async with session(shop) as files:
        assert why in await files.fails("edit", path="src/a.py", old=old, new=new)
    assert patch(shop) == ""


@in_loop
async def test_places_that_overlap_are_more_than_one(tmp_path: Path) -> None:
    shop = begun(tmp_path, {"x": "a" * 30})
    async with session(shop) as files:
        said = await files.fails("edit", path="x", old="aa", new="b")
        assert "in lines 1, 1, 1, 1, 1 and others" in said


@pytest.mark.parametrize(
    ("held", "old", "new", "after"),
    [
        (b"one\r\ntwo\r\n", "one\ntwo", "1\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "one\r\ntwo", "1\n2", b"1\r\n2\r\n"),
        (b"one\r\ntwo\r\n", "two", "2\n3", b"one\r\n2\r\n3\r\n"),
        (b"one\r\ntwo\nthree\n", "two\nthree", "2\n3", b"one\r\n2\n3\n"),
        (b"one\ntwo\n", "one\ntwo", "1\r\n2", b"1\r\n2\n"),
        (b"no end", "end", "line end", b"no line end"),
    ],
)
@in_loop
async def test_line_ends_of_a_file_stay(
    tmp_path: Path, held: bytes, old: str, new: str, after: bytes
) -> None:
    shop = begun(tmp_path, {"x": held})
    async with session(shop) as files:
        await files.does("edit", path="x", old=old, new=new)
    base = shop.repository.tree_of(shop.state.base.commit)
    made = shop.repository.applied(base, patch(shop))
    assert shop.repository.read(made, "x") == after


@in_loop
async def test_files_are_written_and_deleted(shop: RunWorkspace) -> None:
    async with session(shop) as files:
        assert await files.does("write", path="new/b.py", content="é") == (
            "new/b.py is new: 2 bytes."
        )
        assert await files.does("write", path="README.md", content="") == (
            "README.md is changed: 0 bytes."
        )
        assert await files.does("delete", path="empty") == "empty is deleted."
        assert "There is no file empty." in await files.fails("delete", path="empty")
    listed = shop.repository.changes(
        shop.repository.tree_of(shop.state.base.commit),
        shop.repository.applied(shop.repository.tree_of(shop.state.base.commit), patch(shop)),
    )
    assert [change.path for change in listed] == ["README.md", "empty", "new/b.py"]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("src", "src is a folder."),
        ("README.md/x", "README.md is a file, so that nothing can be in it."),
        ("a.log", "git ignores a.log: the patch would not have it."),
        ("build/x", "git ignores build/x"),
        (".env", "a file of that name holds secrets"),
        (".git/hooks/x", ".git is git's own"),
        ("../x", "it isn't a plain path below the workspace"),
        ("link", "link is a link, which is not changed."),
        ("link/x", "link is a file, so that nothing can be in it."),
    ],
)
@in_loop
async def test_what_may_not_be_written_is_told(tmp_path: Path, path: str, why: str) -> None:
    user = tmp_path / "user" / "shop"
    user.mkdir(parents=True)
    (user / "link").symlink_to("/etc")
    shop = begun(tmp_path, FILES)
    async with session(shop) as files:
        assert why in await files.fails("write", path=path, content="x")
    assert patch(shop) == ""


@in_loop
async def test_what_is_too_large_is_told_and_changes_nothing(shop: RunWorkspace) -> None:
    half = "x\n" * (LARGEST_FILE * 2 // 9)
    async with session(shop) as files:
        assert "is the most" in await files.fails(
            "write", path="a", content="x" * (LARGEST_FILE + 1)
        )
        await files.does("write", path="b", content=half)
        assert "The patch has" in await files.fails("write", path="c", content=half)
        assert "There is no file c." in await files.fails("read", path="c")
        assert "is the most" not in await files.does("read", path="b", lines=1)


@in_loop
async def test_a_call_that_is_made_again_answers_the_same_and_changes_nothing_twice(
    shop: RunWorkspace,
) -> None:
    arguments = {"path": "README.md", "old": "# Shop", "new": "# Shop # Shop"}
    async with session(shop) as files:
        first = await files.does("edit", **arguments)
        assert await files.again("edit", **arguments) == first
    async with session(shop, number=1) as files:
        assert await files.again("edit", **arguments) == first
    assert patch(shop).count("+# Shop # Shop\n") == 1


@pytest.mark.parametrize("is_gone", [False, True])
@in_loop
async def test_another_process_goes_on_from_the_last_call(
    shop: RunWorkspace, is_gone: bool
) -> None:
    async with session(shop) as files:
        await files.does("write", path="a", content="1")
        await files.does("edit", path="a", old="1", new="2")
        before = patch(shop)
    if is_gone:
        shop.forget()
    async with session(shop, number=2) as files:
        assert "1  2" in await files.does("read", path="a")
        await files.does("write", path="b", content="3")
    assert before in patch(shop)


@in_loop
async def test_two_attempts_have_copies_of_their_own(shop: RunWorkspace) -> None:
    async with session(shop) as files:
        await files.does("write", path="a", content="1")
    assert patch_of(shop.use("S1.2")) == ""
    assert patch(shop)


@in_loop
async def test_what_was_stored_and_is_damaged_is_no_fault_of_the_model(
    shop: RunWorkspace,
) -> None:
    async with session(shop) as files:
        await files.does("write", path="a", content="1")
    data = patch(shop).encode()
    (blob,) = shop.run_folder.rglob(hashlib.sha256(data).hexdigest())
    blob.write_bytes(b"damaged")
    shop.forget()
    async with session(shop, number=1) as files:
        with pytest.raises(RunDamagedError):
            await files.does("read", path="a")
        with pytest.raises(RunDamagedError):
            await files.does("write", path="b", content="2")


@in_loop
async def test_a_command_changes_the_copy_and_not_the_users_files(shop: RunWorkspace) -> None:
    before = as_it_lies(shop.user_folder)
    async with session(shop) as files:
        command = (
            "pwd; echo 2 >new.txt; echo x >a.log; mkdir build; echo x >build/y; chmod +x README.md;"
            " rm empty; ln -s /etc/passwd link; echo K=1 >.env; exit 3"
        )
        answer = await files.does("run", command=command)
        assert answer.splitlines() == [
            str(shop.user_folder),
            "[exit code 3]",
            "[changed] README.md, empty, new.txt",
            "[not kept] link: it is a link, or no plain file",
        ]
        assert await files.again("run", command=command) == answer
        seen = await files.does("run", command="ls; cat new.txt; echo 3 >new.txt")
        assert seen.splitlines() == [
            *("README.md", "new.txt", "picture.png", "src", "2"),
            "[exit code 0]",
            "[changed] new.txt",
        ]
    made = patch(shop)
    assert "new mode 100755" in made
    assert "+3\n" in made
    assert ".env" not in made
    assert "a.log" not in made
    assert as_it_lies(shop.user_folder) == before


@in_loop
async def test_a_command_that_prints_nothing_or_too_much_is_told(shop: RunWorkspace) -> None:
    async with session(shop) as files:
        assert await files.does("run", command="true") == "[nothing printed]\n[exit code 0]"
        flood = await files.does(
            "run", command="printf 'first\\033[2J\\n'; yes | head -c 9000000; echo last"
        )
        assert flood.startswith("first")
        assert "\x1b" not in flood
        assert flood.endswith("last\n[exit code 0]")
        assert len(flood) < 17_000
    assert patch(shop) == ""


@in_loop
async def test_a_command_that_never_ends_is_ended_and_changes_nothing(
    shop: RunWorkspace,
) -> None:
    async with session(shop, seconds=12) as files:
        assert await files.does("run", command="rm README.md; sleep 10000") == (
            "They took more than 2 s. The files are as they were before this call."
        )
        assert "# Shop" in await files.does("read", path="README.md")
    assert patch(shop) == ""


@in_loop
async def test_a_command_reaches_no_network_and_no_other_file(
    shop: RunWorkspace, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hunter2")
    code = "import socket; socket.create_connection(('1.1.1.1', 53), 2)"
    async with session(shop) as files:
        answer = await files.does(
            "run", command=f'python -c "{code}"; cat {tmp_path}/secret .git/config; exit 0'
        )
    assert "OSError" in answer or "Error" in answer
    assert "hunter2" not in answer
    assert "[core]" not in answer


@in_loop
async def test_what_holds_secrets_is_seen_by_no_call_and_stays_as_it_is(tmp_path: Path) -> None:
    shop = begun(tmp_path, {".env": "KEY=hunter2\n", "a": "1\n", ".env.example": "KEY=\n"})
    async with session(shop) as files:
        assert await files.does("search", text="KEY") == ".env.example:1: KEY="
        shown = await files.does("run", command="ls -A; cat .env; echo 2 >a")
        assert "hunter2" not in shown
        assert shown.splitlines()[:2] == [".env.example", "a"]
        assert shown.endswith("[changed] a")
    assert "env" not in patch(shop)


@in_loop
async def test_the_check_that_a_step_has_run_is_not_run_again_by_the_gate(
    shop: RunWorkspace,
) -> None:
    check = "date +%N; exit 3"
    use = shop.use()
    assert use.workplace
    place = use.workplace.model_copy(update={"checks": (check,)})
    async with calls_of(WorkspaceSource(), replace(use, workplace=place)) as calls:
        files = Session(calls)
        first = await files.does("run", command=check)
        await files.does("run", command=check)
        await files.does("run", command="true")
    (outcome,) = await checked(shop.repository, place, shop.repository.tree_of(place.start))
    assert outcome.exit_code == 3
    assert outcome.printed.strip() == first.splitlines()[0]
