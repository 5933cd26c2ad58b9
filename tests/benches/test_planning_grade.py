"""What a plan is worth beside the one that is right."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prefect_swarm.tasks.planner.line_format import read_lines

PLANNING = Path(__file__).parents[2] / "benches" / "planning"


@pytest.fixture
def grading(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PLANNING)
    return import_module("grade")


def wanted(objective: str, *graphs: dict[str, tuple[str, str]]) -> Any:
    """An objective. A graph is key -> (what it needs, its patterns), each a word."""
    heldout = import_module("heldout")
    steps = [
        [
            {"key": key, "needs": needs.split(), "must": must.split()}
            for key, (needs, must) in graph.items()
        ]
        for graph in graphs
    ]
    return heldout.Wanted(
        id="x", kind="x", objective=objective, steps=steps[0], alternatives=steps[1:]
    )


def drinks(grading: Any, *lines: str, reverse: bool = False) -> Any:
    """Grade a plan for a comparison of three things."""
    objective = "Compare tea, coffee and cocoa as drinks for the night shift"
    must = "drink night"
    graph = {
        "a": ("", f"tea {must}"),
        "b": ("", f"coffee {must}"),
        "c": ("", f"cocoa {must}"),
        "d": ("a b c", "compar|choose drinks"),
    }
    return grading.grade(plan(objective, *lines), wanted(objective, graph))


def plan(objective: str, *lines: str) -> Any:
    return read_lines("\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1)), objective)


TEA = "Tea Expert: Describe tea as a drink for the night shift"
COFFEE = "Coffee Expert: Describe coffee as a drink for the night shift"
COCOA = "Cocoa Expert: Describe cocoa as a drink for the night shift"
JUDGE = "Judge: Compare tea, coffee and cocoa as drinks for the night shift"


def test_the_right_plan_is_worth_all(grading: Any) -> None:
    good = drinks(grading, TEA, COFFEE, COCOA, f"{JUDGE} (needs 1, 2, 3)")
    assert good == grading.Grade(True, True, 3, 3, 3, 1.0, True, None, 0.0, 4)
    assert good.edge_f1 == 1.0


def test_the_order_of_the_lines_does_not_matter(grading: Any) -> None:
    assert drinks(grading, COCOA, TEA, COFFEE, f"{JUDGE} (needs 1, 2, 3)").exact


def test_a_wrong_edge_costs_precision(grading: Any) -> None:
    bad = drinks(grading, TEA, f"{COFFEE} (needs 1)", COCOA, f"{JUDGE} (needs 1, 2, 3)")
    assert (bad.exact, bad.faithful, bad.matched_edges, bad.plan_edges) == (False, True, 3, 4)
    assert bad.edge_f1 == pytest.approx(6 / 7)


def test_a_missing_edge_costs_recall(grading: Any) -> None:
    bad = drinks(grading, TEA, COFFEE, COCOA, f"{JUDGE} (needs 1, 3)")
    assert (bad.exact, bad.matched_edges, bad.plan_edges) == (False, 2, 2)
    assert bad.edge_f1 == pytest.approx(4 / 5)


def test_a_missing_step_costs_its_edges_too(grading: Any) -> None:
    bad = drinks(grading, TEA, COFFEE, f"{JUDGE} (needs 1, 2)")
    assert (bad.exact, bad.faithful, bad.coverage, bad.matched_edges) == (False, False, 0.75, 2)
    # The judge's prompt is the only one that says cocoa, but it stands where the judge belongs.
    assert "c has no step" in bad.flaws


def test_a_merged_step_covers_one_thing(grading: Any) -> None:
    both = "Expert: Describe tea and coffee as drinks for the night shift"
    judge = "Judge: Compare all as drinks (needs 1, 2)"
    bad = drinks(grading, both, COCOA, judge)
    assert (bad.exact, bad.coverage, bad.steps) == (False, 0.75, 3)


def test_a_step_that_is_there_twice_is_a_duplicate(grading: Any) -> None:
    again = "Other Expert: Describe tea as a drink for the night shift"
    bad = drinks(grading, TEA, COFFEE, COCOA, again, f"{JUDGE} (needs 1, 2, 3)")
    assert (bad.exact, bad.faithful, bad.duplicates, bad.steps) == (False, True, 0.2, 5)


def test_a_step_without_its_constraint_is_exact_but_not_faithful(grading: Any) -> None:
    short = "Cocoa Expert: Describe cocoa as a drink"
    bad = drinks(grading, TEA, COFFEE, short, f"{JUDGE} (needs 1, 2, 3)")
    assert (bad.exact, bad.faithful, bad.flaws) == (True, False, ("c doesn't say night",))


def test_the_agents_name_says_nothing(grading: Any) -> None:
    bad = drinks(grading, TEA, COFFEE, "Cocoa: Describe the drink", f"{JUDGE} (needs 1, 2, 3)")
    assert (bad.exact, bad.coverage) == (False, 0.75)
    assert "c has no step" in bad.flaws


def test_a_step_about_something_else_is_not_faithful(grading: Any) -> None:
    stray = "Historian: Tell how sailors of Venice navigated"
    bad = drinks(grading, TEA, COFFEE, COCOA, f"{JUDGE} (needs 1, 2, 3)", stray)
    assert (bad.faithful, bad.flaws[-1]) == (False, "S5 says what the objective doesn't")


def test_words_of_the_task_itself_are_no_strays(grading: Any) -> None:
    judge = "Judge: Read the results, compare the drinks, recommend the best and write a report"
    assert drinks(grading, TEA, COFFEE, COCOA, f"{judge} (needs 1, 2, 3)").faithful


def test_a_plan_that_cannot_be_read_is_worth_nothing(grading: Any) -> None:
    bad = grading.grade(None, wanted("Sing", {"a": ("", "sing")}))
    assert bad == grading.Grade(False, False, 0, 0, 0, 0.0, False, False, 0.0, 0, ("unreadable",))
    assert bad.edge_f1 == 0.0


def test_edges_where_none_is_expected_are_worth_nothing(grading: Any) -> None:
    objective = "Describe tea and coffee"
    lanes = wanted(objective, {"a": ("", "tea"), "b": ("", "coffee")})
    good = plan(objective, "Expert: Describe tea", "Expert: Describe coffee")
    bad = plan(objective, "Expert: Describe tea", "Expert: Describe coffee (needs 1)")
    assert grading.grade(good, lanes).edge_f1 == 1.0
    assert grading.grade(bad, lanes).edge_f1 == 0.0
    assert grading.edge_f1([grading.grade(good, lanes)]) == 1.0


@pytest.mark.parametrize(
    ("lines", "serial", "exact"),
    [
        (["Poet: Write an ode to rain", "Translator: Put it into Greek (needs 1)"], True, True),
        (["Poet: Write an ode to rain", "Translator: Put it into Greek"], False, False),
        (["Poet: Write an ode to rain in Greek"], False, False),
        (
            [
                "Poet: Write an ode to rain",
                "Translator: Put it into Greek (needs 1)",
                "Editor: Review the Greek ode (needs 2)",
            ],
            False,
            False,
        ),
        (["Translator: Put it into Greek", "Poet: Write an ode to rain (needs 1)"], True, False),
    ],
    ids=["right", "cut", "merged", "a review nobody asked for", "backwards"],
)
def test_a_serial_thing_has_to_stay_serial(
    grading: Any, lines: list[str], serial: bool, exact: bool
) -> None:
    objective = "Write an ode to rain and then put it into Greek"
    chain = wanted(objective, {"a": ("", "ode rain"), "b": ("a", "greek")})
    found = grading.grade(plan(objective, *lines), chain)
    assert (found.serial, found.exact) == (serial, exact)


def test_a_join_that_nobody_asked_for_is_not_a_single_thing(grading: Any) -> None:
    objective = "Write a salad recipe with feta and olives"
    single = wanted(objective, {"a": ("", "salad feta olives")})
    split = plan(
        objective,
        "Cook: Write about feta",
        "Cook: Write about olives",
        "Chef: Write a salad recipe with feta and olives (needs 1, 2)",
    )
    found = grading.grade(split, single)
    assert (found.serial, found.exact, found.coverage, found.faithful) == (False, False, 1.0, True)


def test_any_of_the_right_plans_will_do(grading: Any) -> None:
    objective = "Total the rent and say if it fits"
    first = {"a": ("", "total fits")}
    two = {"a": ("", "total"), "b": ("a", "fits")}
    lines = ["Accountant: Total the rent", "Judge: Say if the rent fits (needs 1)"]
    assert grading.grade(plan(objective, *lines), wanted(objective, first, two)).exact
    assert grading.grade(plan(objective, *lines), wanted(objective, two, first)).exact
    assert not grading.grade(plan(objective, *lines), wanted(objective, first)).exact


def test_words_come_before_edges(grading: Any) -> None:
    """Each lane is tested by the step that names it, whatever the edges would like better."""
    objective = "Write enqueue and dequeue, each with a test"
    graph = {
        "a": ("", "write enqueue"),
        "b": ("", "write dequeue"),
        "c": ("a", "test enqueue"),
        "d": ("b", "test dequeue"),
    }
    lines = ["Coder: Write enqueue", "Coder: Write dequeue"]
    tests = [
        "Tester: Write a test of enqueue (needs {})",
        "Tester: Write a test of dequeue (needs {})",
    ]
    straight = plan(objective, *lines, tests[0].format(1), tests[1].format(2))
    crossed = plan(objective, *lines, tests[0].format(2), tests[1].format(1))
    assert grading.grade(straight, wanted(objective, graph)).exact
    found = grading.grade(crossed, wanted(objective, graph))
    assert (found.exact, found.matched_edges) == (False, 0)


def test_a_join_that_names_everything_is_not_taken_for_a_lane(grading: Any) -> None:
    objective = "Pick cello or tuba for a choice at 58"
    graph = {"a": ("", "cello 58"), "b": ("", "tuba 58"), "c": ("a b", "pick|choice 58")}
    lines = [
        "Expert: Say what speaks for the cello as a choice at 58",
        "Expert: Say what speaks for the tuba as a choice at 58",
        "Judge: Pick cello or tuba as the choice at 58",
    ]
    right = plan(objective, *lines[:2], f"{lines[2]} (needs 1, 2)")
    partly = plan(objective, *lines[:2], f"{lines[2]} (needs 2)")
    assert grading.grade(right, wanted(objective, graph)).exact
    assert grading.grade(partly, wanted(objective, graph)).edge_f1 == pytest.approx(2 / 3)


def test_fourteen_steps_that_all_say_everything_are_graded(grading: Any) -> None:
    names = [f"item{n}x" for n in range(13)]
    objective = f"Compare {', '.join(names)}"
    graph = {name: ("", name) for name in names} | {"join": (" ".join(names), "compare")}
    lines = [f"Expert {n}: Compare {', '.join(names)} (needs {n - 1})" for n in range(1, 15)]
    lines[0] = lines[0].removesuffix(" (needs 0)")
    found = grading.grade(plan(objective, *lines), wanted(objective, graph))
    assert (found.exact, found.coverage, found.plan_edges, found.wanted_edges) == (
        False,
        1.0,
        13,
        13,
    )


@pytest.mark.parametrize("name", ["heldout", "fresh", "third"])
def test_every_objective_of_a_set_has_a_plan_that_is_worth_all(grading: Any, name: str) -> None:
    heldout = import_module("heldout")
    lines = Path(__file__).with_name(f"{name}_plans.jsonl").read_text("utf-8").splitlines()
    plans = {plan["id"]: "\n".join(plan["plan"]) for plan in map(json.loads, lines)}
    for expected in heldout.load_heldout(heldout.SETS[name]):
        found = grading.grade(read_lines(plans[expected.id], expected.objective), expected)
        assert (expected.id, found.exact, found.flaws) == (expected.id, True, ())
        assert (found.edge_f1, found.coverage, found.duplicates) == (1.0, 1.0, 0.0)
        assert found.serial is not False


@st.composite
def graphs(draw: st.DrawFn) -> list[list[int]]:
    """The direct needs of up to 10 steps, each needing earlier ones."""
    needs: list[list[int]] = []
    behind: list[set[int]] = []
    for step in range(draw(st.integers(1, 10))):
        chosen = draw(st.sets(st.integers(0, step - 1), max_size=4)) if step else set[int]()
        further = set[int]().union(*(behind[need] for need in chosen))
        needs.append(sorted(chosen - further))
        behind.append(further | chosen)
    return needs


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(needs=graphs(), names=st.booleans(), data=st.data())
def test_the_expected_plan_written_out_is_exact_and_faithful(
    grading: Any, needs: list[list[int]], names: bool, data: st.DataObject
) -> None:
    """Also where a step names what it needs, and in whatever order the lines stand."""
    items = [f"thing{n}of" for n in range(len(needs))]
    objective = f"Make {', '.join(items)} by noon"
    graph = {
        item: (" ".join(items[need] for need in needs[n]), f"{item} noon")
        for n, item in enumerate(items)
    }
    order = data.draw(st.permutations(range(len(needs))).map(lambda seen: earliest(seen, needs)))
    lines = [
        f"Maker: Make {items[n]} by noon"
        + (f" from {' and '.join(items[need] for need in needs[n])}" if names and needs[n] else "")
        + (
            f" (needs {', '.join(str(order.index(need) + 1) for need in needs[n])})"
            if needs[n]
            else ""
        )
        for n in order
    ]
    found = grading.grade(plan(objective, *lines), wanted(objective, graph))
    assert (found.exact, found.faithful, found.edge_f1, found.coverage) == (True, True, 1.0, 1.0)


def earliest(wish: list[int], needs: list[list[int]]) -> list[int]:
    """The wished order, each step put off until what it needs is there."""
    order: list[int] = []
    while len(order) < len(wish):
        order.append(next(n for n in wish if n not in order and set(needs[n]) <= set(order)))
    return order
