"""Commands are found in the blocks of pages as a reader would type them."""

from __future__ import annotations

import pytest
from documented.commands import Command, commands, plain
from documented.fences import Fence, fences_in


def session(text: str) -> list[Command]:
    return commands(Fence("page.md", 10, "console", text))


def listed(text: str) -> list[Command]:
    return commands(Fence("page.md", 10, "sh", text))


def test_a_session_has_commands_with_what_stands_below_them() -> None:
    assert session("$ run a\nFirst.\n\nSecond.\n\n$ run b\n$ run c\nThird.\n") == [
        Command("page.md:10", "run a", "First.\n\nSecond."),
        Command("page.md:15", "run b", ""),
        Command("page.md:16", "run c", "Third."),
    ]


def test_a_command_goes_on_in_the_next_line() -> None:
    assert session("$ run a \\\n    --now\nDone.\n") == [
        Command("page.md:10", "run a \\\n    --now", "Done.")
    ]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_quotation_that_is_open_goes_on(quote: str) -> None:
    text = f"run {quote}a\n$b{quote} c"
    assert session(f"$ {text}\nDone.\n") == [Command("page.md:10", text, "Done.")]


def test_a_quote_in_a_comment_opens_nothing() -> None:
    assert session("$ run a  # what's new\nDone.\n")[0].output == "Done."


def test_a_session_begins_with_a_prompt() -> None:
    with pytest.raises(ValueError, match=r"page\.md:10: a session begins with a prompt"):
        session("Done.\n$ run a\n")
    with pytest.raises(ValueError, match="prompt"):
        session("")


def test_a_list_has_commands_without_output() -> None:
    assert listed("# It's first.\nrun a\n\nrun b \\\n  --now\nrun 'c\nd'\n") == [
        Command("page.md:11", "run a"),
        Command("page.md:13", "run b \\\n  --now"),
        Command("page.md:15", "run 'c\nd'"),
    ]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("run  a   # why", "run a"),
        ("run a \\\n    --now  # why", "run a --now"),
        ("run 'a # b' c#d # why", "run 'a # b' c#d"),
        ('run "a\'s # b" # why', 'run "a\'s # b"'),
        ('run "a \\" # b" # why', 'run "a \\" # b"'),
        ("run 'a\n# b' # why", "run 'a\n# b'"),
        ("run a # it's\nrun b # it's", "run a\nrun b"),
        ("# why", ""),
    ],
)
def test_a_plain_command_has_no_comment_and_no_broken_line(typed: str, kept: str) -> None:
    assert plain(typed) == kept


def test_a_block_may_hold_blocks() -> None:
    page = "One.\n\n````console\n$ run\n```json\n{}\n```\n````\n\n```sh\nrun b\n```\n"
    assert fences_in("page.md", page) == [
        Fence("page.md", 4, "console", "$ run\n```json\n{}\n```\n"),
        Fence("page.md", 11, "sh", "run b\n"),
    ]


def test_a_block_of_a_list_stands_without_its_indentation() -> None:
    page = "- One.\n\n  ```sh\n  run a \\\n    --now\n\n  run b\n  ```\n"
    assert fences_in("page.md", page) == [Fence("page.md", 4, "sh", "run a \\\n  --now\n\nrun b\n")]


def test_a_block_without_a_language_is_found_too() -> None:
    assert fences_in("page.md", "```\na\n```\n") == [Fence("page.md", 2, "", "a\n")]
