"""Pattern files are read block by block, and an error names its line."""

from __future__ import annotations

import pytest

from .conftest import ReadCorpus, ReadPattern

GOOD = """
# what all blocks below have
kind some
with x = 2 pets
ask {x}
step a[x] = Expert: Describe {x}
"""


def test_blank_lines_end_blocks_and_comments_do_not(read: ReadCorpus) -> None:
    corpus = read(f"{GOOD}# more\nstep b = Judge: Compare {{x}} < a\n{GOOD}")
    blocks = sorted(corpus.patterns, key=lambda found: found.line)
    assert [len(found.steps) for found in blocks] == [2, 1]
    assert [found.location for found in blocks] == [
        "patterns/some.txt:3",
        "patterns/some.txt:11",
    ]


def test_a_blocks_text_leaves_out_comments(read: ReadCorpus) -> None:
    (found,) = read(GOOD).patterns
    assert found.text.splitlines()[0] == "kind some"
    assert "#" not in found.text


def test_a_bad_block_does_not_hide_the_others(read: ReadCorpus) -> None:
    corpus = read(f"{GOOD}\nkind other\nask {{y}}\n{GOOD}")
    assert len(corpus.patterns) == 2
    (error,) = corpus.errors
    assert error.problem == "patterns/some.txt:9: {y} has no `with` line before it."


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("say hello", "'say hello' is not a line of a pattern."),
        ("kind twice", "'twice' is not a kind, or not the block's only one."),
        ("with y", "'y' is not a variable and its words."),
        ("with x = pets", "x is defined twice."),
        ("with y = cats", "there is no list cats, or it is empty."),
        ("with y = pets/cats", "there is no list cats, or it is empty."),
        ("with y = 2..4 pets", "list pets has fewer than 4 entries."),
        ("with y = 3..2 pets", "3..2 is not a range."),
        ("with y = a | | b", "an alternative is empty, or has another number of fields."),
        ("with y = a :: b | c", "an alternative is empty, or has another number of fields."),
        ("with y = each z pets", "z is not an earlier variable with several entries."),
        ("ask <a", r"`<a` isn't closed (`\<` is the plain character)."),
        ("ask {y}", "{y} has no `with` line before it."),
        ("ask {x.land}", "{x.land} is not a field of all its lists."),
        ("ask {x#}", "{x#} belongs in a step over x."),
        ("ask {x|loud}", "{x|loud}: there is no such filter."),
        ("ask {x|prev}", "{x|prev}: it belongs in a prompt after `//`."),
        ("ask {x: {x|or}}", "{x|or}: it is a single entry here, which needs no joining."),
        ("step b Judge: Do", "'b Judge: Do' is not a step."),
        ("step a = Judge: Do", "step a is defined twice."),
        ("step b = Judge: Do < c", "it needs c, which is not a step before it."),
        ("step b[y] = Judge: Do", "y is not a variable with several entries."),
        ("step b[x] = Judge: Do {x} // Go on",
         "only a chain, `[x+]`, has a prompt for its later steps."),
        ("step b[x] = Judge: Do {x|or}",
         "{x|or}: it is a single entry here, which needs no joining."),
        ("step b[x+] = Judge: Do {x|prev}", "{x|prev}: it belongs in a prompt after `//`."),
        ("step b[x] = Judge: Do {x: it}", "{x: …} needs several entries."),
        ("ask {x: the {x}|lower}", "{x: …|lower}: it belongs inside the text."),
        ("step b = Judge: Do {x|bullets}", "{x|bullets}: a step may not break lines."),
    ],
)  # fmt: skip
def test_an_error_names_the_file_and_line(read: ReadCorpus, line: str, problem: str) -> None:
    (error,) = read(f"{GOOD}{line}").errors
    assert error.problem == f"patterns/some.txt:7: {problem}"
    assert error.fix


@pytest.mark.parametrize("missing", ["kind", "ask", "step"])
def test_a_block_has_a_kind_an_ask_and_a_step(read: ReadCorpus, missing: str) -> None:
    lines = (line for line in GOOD.strip().splitlines() if not line.startswith(missing))
    (error,) = read("\n".join(lines)).errors
    assert error.problem.endswith(f"The block has no {missing} line.")


@pytest.mark.parametrize(
    ("steps", "narrow"),
    [
        ("step a = A1: Do", True),
        ("step a = A1: Do\nstep b = B1: Do < a", True),
        ("step a = A1: Do\nstep b[x+] = B1: Do {x} < a\nstep c = C1: Do < b", True),
        ("step a = A1: Do\nstep b = B1: Do", False),
        ("step a[x] = A1: Do {x}", False),
        ("step a = A1: Do\nstep b = B1: Do < a\nstep c = C1: Do < a", False),
        ("step b[x, y+] = B1: Do {x} {y}", False),
    ],
)
def test_one_step_and_pure_chains_are_narrow(
    pattern: ReadPattern, steps: str, narrow: bool
) -> None:
    found = pattern(f"with x = 2 pets\nwith y = 2 pets\n{steps}")
    assert found.is_narrow is narrow


def test_lists_are_global_and_have_one_home(read: ReadCorpus) -> None:
    corpus = read("", "[count]\n1\n")
    assert [error.problem for error in corpus.errors] == [
        "words/some.txt: list count is in the language itself already."
    ]
