"""Regular expressions of plans: found where Python finds them, in bounded time."""

from __future__ import annotations

import re

import pytest
from growth import grows_faster
from hypothesis import assume, example, given
from hypothesis import strategies as st
from prefect_swarm.plan import regular_expression
from prefect_swarm.plan.regular_expression import (
    LONGEST_PATTERN,
    LONGEST_SEARCHED,
    is_found,
    pattern_problem,
)

SINGLE = r"a b . \w \d \s [ab] [^a] []b] [\d\]-] \. é { ^ $ \b \B \A \Z \x61 \u00e9 A - ] }"
ATOMS = st.sampled_from([*SINGLE.split(), " ", "\n"])
QUANTIFIERS = st.sampled_from(["*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{,2}", "{1,}", "{0}"])


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.builds("(?:{}){}".format, inner, QUANTIFIERS)
        | st.builds("({}){}".format, inner, QUANTIFIERS)
        | st.lists(inner, max_size=3).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map("|".join)
    )


PATTERNS = st.builds(
    "".join,
    st.tuples(
        st.sampled_from(["", "(?i)", "(?s)", "(?m)", "(?a)", "(?ims)"]),
        st.recursive(ATOMS | st.builds("{}{}".format, ATOMS, QUANTIFIERS), combined, max_leaves=8),
    ),
)
TEXTS = st.text("abAé1 .\n-{]", max_size=12)


@given(PATTERNS, TEXTS)
@example("(?:a|ab)(?:c|bcd)(?:d*)", "abcd")
@example("a{b", "a{b")
@example("{}", "{}")
@example("x{,2}y", "xxy")
@example("[]a]+]", "]a]]")
@example("(?P<name>a)|b$", "cb\n")
def test_an_expression_is_found_where_python_finds_it(pattern: str, text: str) -> None:
    assume(not pattern_problem(pattern))
    # What isn't a word's edge in a text without characters, versions of Python see differently.
    assume(text or r"\B" not in pattern)
    assert is_found(pattern, text) is bool(re.search(pattern, text))


@given(PATTERNS)
def test_what_is_refused_is_refused_for_a_reason(pattern: str) -> None:
    problem = pattern_problem(pattern)
    if not problem:
        return
    if "not a regular expression" in problem:
        with pytest.raises((re.error, FutureWarning)):
            re.compile(pattern)
    else:
        assert "unbounded repetition within another" in problem


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(a+)+b", "an unbounded repetition within another one"),
        (r"(?:\w*\s)*$", "an unbounded repetition within another one"),
        ("(?:a{2,})*", "an unbounded repetition within another one"),
        ("(?=a)", "look-around"),
        ("(?!a)", "look-around"),
        ("(?<=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "a back-reference"),
        ("(?P<x>a)(?P=x)", "a back-reference"),
        ("(a)?(?(1)b|c)", "a back-reference"),
        ("(?>a)", "an atomic group"),
        ("a++", "a possessive quantifier"),
        ("a(?#b)", "a comment"),
        ("(?x) a", "the group"),
        ("(?i:a)", "the group"),
        ("a{1000000}", "over 1,000 characters"),
        ("(((a{99}){99}){99}){99}", "over 1,000 characters"),
        ("(" * 30 + ")" * 30, "groups over 20 levels deep"),
        ("a" * (LONGEST_PATTERN + 1), "over 200 characters"),
        ("(", "is not a regular expression"),
        ("a{2,1}", "is not a regular expression"),
        ("[[:alpha:]]", "is not a regular expression"),
        ("\\", "is not a regular expression"),
        ("*", "is not a regular expression"),
    ],
)
def test_what_could_take_long_is_refused(pattern: str, problem: str) -> None:
    assert problem in pattern_problem(pattern)
    with pytest.raises(ValueError, match=re.escape(problem)):
        is_found(pattern, "a")


HOSTILE = [
    "a*" * 90 + "X",
    ".*" * 60 + "X",
    "(?:a?){100}a{100}X",
    "(?:a|a|a|aa)*X",
    "(?:a|b|ab)*X",
    r"(?:.|\n)*a(?:.|\n){150}X",
    r"^\w*\w*\w*\w*\w*\w*@",
    "(?i)" + "[a-z]*" * 30 + "!",
]
"""Python's own search takes years for most of these."""


@pytest.mark.attack("growth")
@pytest.mark.parametrize("pattern", HOSTILE)
@pytest.mark.parametrize("piece", ["a", "ab", "aab ", "\n"])
def test_a_hostile_expression_takes_time_in_proportion_to_the_text(
    pattern: str, piece: str
) -> None:
    assert pattern_problem(pattern) == ""

    def prepare(size: int):
        text = (piece * size)[:size]
        regular_expression._automaton.cache_clear()
        is_found(pattern, "")
        return lambda: is_found(pattern, text)

    assert grows_faster(prepare, 400) == ""
    assert not is_found(pattern, piece * LONGEST_SEARCHED)


@given(PATTERNS | st.sampled_from(HOSTILE))
def test_an_automaton_has_no_more_states_than_the_bound(pattern: str) -> None:
    assume(not pattern_problem(pattern))
    assert len(regular_expression._automaton(pattern)._states) <= 2 * 1_000


def test_no_text_makes_an_automaton_keep_more_than_the_bound() -> None:
    pattern = "[ab]*a[ab]{400}c"
    # The binary digits of the numbers one after another: hardly any part comes twice.
    digits = "".join(f"{number:b}" for number in range(1_200))
    assert not is_found(pattern, digits.translate({48: "a", 49: "b"}))
    automaton = regular_expression._automaton(pattern)
    sizes = [len(key[0]) + len(states) for key, states in automaton._kept.items()]
    assert sum(sizes) <= regular_expression._MOST_KEPT + 2 * 1_000


def test_only_the_beginning_of_a_text_is_searched() -> None:
    assert is_found("x$", "a" * (LONGEST_SEARCHED - 1) + "x")
    assert not is_found("x", "a" * LONGEST_SEARCHED + "x")


def test_half_of_a_character_is_a_character() -> None:
    assert is_found("^.$", "\ud800")
