"""A pattern becomes an objective and a plan whose steps need what the pattern says."""

from __future__ import annotations

import pytest
from prefect_swarm.errors import InputError
from prefect_swarm.parl.data.expand import (
    Expansion,
    MisfitError,
    draw,
    draw_choices,
    expand,
    name_problem,
    plan_problem,
    prompt_problem,
    seeded_random,
)

from .conftest import ReadPattern

COUNTED = "with k = 3 count\nwith l = 2 languages\n"


def needs(pattern: ReadPattern, steps: str) -> list[tuple[int, ...]]:
    """What each step needs, by the steps' numbers."""
    found = draw(pattern(COUNTED + steps), seeded_random(0)).needs
    return [tuple(need + 1 for need in step) for step in found]


@pytest.mark.parametrize(
    ("steps", "needed"),
    [
        ("step a = A1: Do it", [()]),
        ("step a[k] = A1: Do {k}", [(), (), ()]),
        ("step a[k] = A1: Do {k}\nstep j = J1: Join it < a", [(), (), (), (1, 2, 3)]),
        ("step a[k] = A1: Do {k}\nstep b[k] = B1: Test {k} < a", [(), (), (), (1,), (2,), (3,)]),
        ("step a = A1: Do it\nstep b[k] = B1: Test {k} < a", [(), (1,), (1,), (1,)]),
        ("step a[k] = A1: Do {k}\nstep b[l] = B1: Do {l} < a", [()] * 3 + [(1, 2, 3)] * 2),
        ("step a = A1: Do it\nstep b = B1: Do it\nstep c = C1: Join it < a, b", [(), (), (1, 2)]),
        ("step a[k+] = A1: Do {k}", [(), (1,), (2,)]),
        ("step s = S1: Do it\nstep a[k+] = A1: Do {k} < s\nstep j = J1: End it < a",
         [(), (1,), (2,), (3,), (4,)]),
        ("step s = S1: Do it\nstep a[k+] = A1: Do {k} < s\nstep j = J1: End it < a, s",
         [(), (1,), (2,), (3,), (1, 4)]),
        ("step s[k] = S1: See {k}\nstep a[k+] = A1: Do {k} < s",
         [(), (), (), (1,), (2, 4), (3, 5)]),
        ("step a[k+] = A1: Do {k}\nstep b[k] = B1: Test {k} < a",
         [(), (1,), (2,), (1,), (2,), (3,)]),
        ("step a[l, k] = A1: Do {k} in {l}", [()] * 6),
        ("step a[l, k+] = A1: Do {k} in {l}", [(), (1,), (2,), (), (4,), (5,)]),
        ("step a[l] = A1: Do {l}\nstep b[l, k] = B1: Do {k} in {l} < a",
         [(), (), (1,), (1,), (1,), (2,), (2,), (2,)]),
        ("step a[l, k] = A1: Do {k} in {l}\nstep b[k] = B1: Join {k} < a",
         [()] * 6 + [(1, 4), (2, 5), (3, 6)]),
        ("step a[l, k+] = A1: Do {k} in {l}\nstep b[l] = B1: End {l} < a",
         [(), (1,), (2,), (), (4,), (5,), (3,), (6,)]),
    ],
)  # fmt: skip
def test_a_step_needs_what_it_shares_an_entry_with(
    pattern: ReadPattern, steps: str, needed: list[tuple[int, ...]]
) -> None:
    assert needs(pattern, steps) == needed


def plan(pattern: ReadPattern, text: str, seed: int = 0) -> list[str]:
    return draw(pattern(text), seeded_random(seed)).plan.splitlines()


def test_a_plan_is_numbered_lines(pattern: ReadPattern) -> None:
    text = """
with x = 1 towns
step a[x] = {x|title} Guide: Show {x} in {x.land}
step j = Judge: Rate {x} < a
"""
    assert draw(pattern(text), seeded_random(0)).plan in {
        "1. Bonn Guide: Show Bonn in Germany\n2. Judge: Rate Bonn (needs 1)",
        "1. Riga Guide: Show Riga in Latvia\n2. Judge: Rate Riga (needs 1)",
    }


def test_a_chains_later_steps_have_their_own_prompt(pattern: ReadPattern) -> None:
    lines = plan(
        pattern, "with k = 3 count\nstep a[k+] = Writer: Begin {k} // Go from {k|prev} to {k}"
    )
    assert lines == [
        "1. Writer: Begin 1",
        "2. Writer: Go from 1 to 2 (needs 1)",
        "3. Writer: Go from 2 to 3 (needs 2)",
    ]


def test_steps_are_numbered_and_alternatives_are_the_same_for_all(pattern: ReadPattern) -> None:
    text = "with x = 2 pets\nstep a[x] = <Vet|Keeper>: <See|Visit> patient {x#}"
    seen = {tuple(plan(pattern, text, seed)) for seed in range(40)}
    assert seen == {
        (f"1. {who}: {verb} patient 1", f"2. {who}: {verb} patient 2")
        for who in ("Vet", "Keeper")
        for verb in ("See", "Visit")
    }


def test_a_name_and_a_prompt_begin_with_a_capital_by_themselves(pattern: ReadPattern) -> None:
    (line,) = plan(pattern, "with v = Compare\nstep a = judge: {v|lower} a cow and an ox")
    assert line == "1. Judge: Compare a cow and an ox"


def test_variables_of_one_list_differ(pattern: ReadPattern) -> None:
    found = pattern("with x = 2 pets\nwith y = pets")
    for seed in range(30):
        values = draw_choices(found, seeded_random(seed)).values
        assert set(values["x"].entries).isdisjoint(values["y"].entries)


def test_entries_that_go_along_may_repeat_where_there_are_few(pattern: ReadPattern) -> None:
    found = pattern("with x = 3 pets\nwith l = each x languages")
    assert len(draw_choices(found, seeded_random(0)).values["l"].entries) == 3


def test_it_tells_what_the_objective_and_the_plan_say(pattern: ReadPattern) -> None:
    text = "with x = 2 pets\nwith l = languages\nask Do {x|n}\nstep a[x] = Vet: See {x} in {l}"
    found = draw(pattern(text), seeded_random(0))
    assert isinstance(found, Expansion)
    assert (found.objective_variables, found.plan_variables) == ({"x"}, {"x", "l"})


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("step a = 3D Artist: Draw it", "line 4: '3D Artist' is not an agent's name"),
        ("step a = Artist: Draw.", "line 4: the prompt 'Draw.' has 1 words, not 2 to 48"),
        ("step a = Artist: Draw it.", "line 4: the prompt 'Draw it.' has a full stop at its end"),
        ("step a[k] = Artist: Draw it", "two steps ask one agent the same"),
        ("step a[k, k2] = Artist: Draw {k} {k2}", "25 steps are more than 14"),
        ("step a = A1: Do it\nstep b = B1: Do it < a\nstep c = C1: Do it < a, b",
         "step 3 needs 2 and 1, which 2 needs"),
    ],
)  # fmt: skip
def test_a_plan_that_breaks_a_limit_does_not_fit(
    pattern: ReadPattern, step: str, problem: str
) -> None:
    text = f"with k = 5 count\nwith k2 = 5 count\n{step}".replace(
        "step a = Artist", "step a = Artist"
    )
    with pytest.raises(MisfitError) as caught:
        draw(pattern(text), seeded_random(0))
    assert problem in str(caught.value)


def test_what_does_not_fit_is_drawn_again(pattern: ReadPattern) -> None:
    text = "with k = 5..30 count\nstep a[k] = Artist: Draw {k}"
    for seed in range(20):
        assert 5 <= len(expand(pattern(text), seeded_random(seed)).needs) <= 14


def test_a_pattern_that_never_fits_is_named(pattern: ReadPattern) -> None:
    with pytest.raises(InputError) as caught:
        expand(pattern("step a = Artist: Draw it."), seeded_random(0))
    assert caught.value.problem.startswith("patterns/some.txt:1: no draw of the pattern fits: ")


@pytest.mark.parametrize(
    "prompt",
    [
        "Do it",
        "Do 3 of 4.5 (at most)",
        "Name tea, coffee, etc.",
        "Wait …",
        'Say "it\'s 10:30" twice',
    ],
)
def test_a_prompt_may_have(prompt: str) -> None:
    assert prompt_problem(prompt) == ""


@pytest.mark.parametrize(
    ("prompt", "problem"),
    [
        ("do it", "no capital"),
        ("Do this\nand that", "a line break"),
        ("Do it (needs care)", "the word '(needs'"),
        ("Do it (not)", "the word '(not)'"),
        ("Go to 5. and wait", "the word '5.'"),
        (f"Say {'a' * 41}", f"the word '{'a' * 41}'"),
        ("Go " * 49, "49 words"),
        ("Go", "1 words"),
    ],
)
def test_a_prompt_may_not_have(prompt: str, problem: str) -> None:
    assert f"has {problem}" in prompt_problem(prompt)


@pytest.mark.parametrize("name", ["Tea Expert", "R&D Lead", "Tom's Dad", "O'Brien a.b c-d 9/10"])
def test_a_name_may_be(name: str) -> None:
    assert name_problem(name) == ""


@pytest.mark.parametrize(
    "name", ["", "tea", "A" * 16, "One Two Three Four Five", "Café Owner", "Tea  Expert", "Tea:"]
)
def test_a_name_may_not_be(name: str) -> None:
    assert name_problem(name)


def test_a_plan_is_read_back() -> None:
    assert plan_problem("1. Cook: Boil an egg", "Breakfast") == ""
    assert "is not a step" in plan_problem("2. Cook: Boil an egg", "Breakfast")
    assert "another" in plan_problem("1. Cook: Do\n2. cook: Eat", "Breakfast")
