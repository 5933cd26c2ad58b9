"""How far a plan is the plan that is right for its objective: words and edges, no model.

A plan's steps are paired with the expected ones, each with at most one, so that the shares of their
patterns that are shown add up to the most; a step whose prompt doesn't show the item is never
paired. Several pairings can be equally good in words, since a judge's prompt names the things that
the others look at. Of those, one under which the edges are the expected ones is taken; else the one
whose steps stand most alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

from heldout import Expected, Wanted, is_chain
from prefect_swarm.parl.agreement import Pairing, assign
from prefect_swarm.plan.task_ir import TaskIR
from prefect_swarm.tasks.planner.plan_score import score, words

__all__ = ["Grade", "edge_f1", "grade"]

# What a prompt may say of itself, beside what the objective says.
_TASK = words(
    """answer analyse analyze argue assess calculate check choose collect compare compose convert
    create decide define describe design determine develop discuss draft estimate evaluate examine
    explain extract find fix give identify implement judge list look make merge name outline
    overall pick plan prepare produce provide rank rate read recommend report research result
    review revise rewrite select sketch solve state suggest summarise summarize tell test text
    total transcribe translate turn verify weigh work write"""
)


@dataclass(frozen=True)
class Grade:
    """What a plan is worth.

    Attributes:
        valid: It can be read.
        exact: It has the expected steps and edges, and each step is about what is expected of it:
            it shows the item and at least half of the patterns.
        right: Edges of the plan that are expected.
        said: Edges of the plan.
        wanted: Edges that are expected.
        coverage: Share of the expected steps whose item is in a step that it shares with no other.
        faithful: Every expected step has its step, which shows all patterns, and no step says
            mostly what the objective doesn't.
        serial: Where one step or a chain is expected, whether the plan is one, as long as that.
            None elsewhere.
        duplicates: Share of the steps that ask what another asks, or repeat their own words; as far
            as there are steps that aren't all that an expected step has to be, since the lanes of
            slide 1 and slide 2 read alike.
        steps: Steps of the plan.
        flaws: What is wrong, a clause each.
    """

    valid: bool
    exact: bool
    matched_edges: int
    plan_edges: int
    wanted_edges: int
    coverage: float
    faithful: bool
    serial: bool | None
    duplicates: float
    steps: int
    flaws: tuple[str, ...] = ()

    @property
    def edge_f1(self) -> float:
        """Precision and recall of the edges, as one."""
        return edge_f1([self])


def edge_f1(grades: Sequence[Grade]) -> float:
    """Precision and recall of all plans' edges together, as one.

    Where no edge is expected and none is there it is 1, if every plan can be read.
    """
    edges = sum(grade.plan_edges + grade.wanted_edges for grade in grades)
    return (
        2 * sum(grade.matched_edges for grade in grades) / edges
        if edges
        else float(all(grade.valid for grade in grades))
    )


def grade(plan: TaskIR | None, wanted: Wanted) -> Grade:
    """Grade a plan, None if it can't be read, by the expected plan that it comes closest to."""
    grades = [_grade(plan, graph, wanted.objective) for graph in wanted.graphs]
    return max(
        grades, key=lambda found: (found.exact, found.faithful, found.edge_f1, found.coverage)
    )


def _grade(plan: TaskIR | None, graph: Sequence[Expected], objective: str) -> Grade:
    keys = {step.key: n for n, step in enumerate(graph)}
    expected = [frozenset(keys[need] for need in step.needs) for step in graph]
    edges = sum(map(len, expected))
    serial = is_chain(expected)
    if plan is None:
        cut = False if serial else None
        return Grade(False, False, 0, 0, edges, 0.0, False, cut, 0.0, 0, ("unreadable",))
    ids = {step.id: n for n, step in enumerate(plan.steps)}
    needs = [frozenset(ids[need] for need in step.depends_on) for step in plan.steps]
    prompts = [step.prompt for step in plan.steps]
    exact, pairs = _pair(graph, prompts, expected, needs)
    missing = _missing(graph, prompts, pairs)
    amiss = [*missing, *_strays(plan, objective)]
    covered = assign([[int(step.says_item(prompt)) for prompt in prompts] for step in graph])
    matched_edges = sum(
        pairs[need] in needs[pairs[n]]
        for n, wants in enumerate(expected)
        for need in wants
        if n in pairs and need in pairs
    )
    return Grade(
        valid=True,
        exact=exact,
        matched_edges=matched_edges,
        plan_edges=sum(map(len, needs)),
        wanted_edges=edges,
        coverage=len(covered.pairs) / len(graph),
        faithful=not amiss,
        serial=(len(needs) == len(graph) and is_chain(needs)) if serial else None,
        duplicates=_duplicates(plan, objective, len(graph) - len(missing)) / len(prompts),
        steps=len(plan.steps),
        flaws=(*([] if exact else ["not the expected graph"]), *amiss),
    )


def _pair(
    graph: Sequence[Expected],
    prompts: Sequence[str],
    expected: Sequence[frozenset[int]],
    needs: Sequence[frozenset[int]],
) -> tuple[bool, dict[int, int]]:
    """Return whether the graphs are the same, and the pairs: expected step to the plan's."""
    whole = lcm(*(len(step.must) for step in graph))  # what all patterns of a step weigh
    shown = [[_shown(step, prompt, whole) for prompt in prompts] for step in graph]
    if len(graph) == len(prompts):
        fits = [
            frozenset(n for n in tight if 2 * row[n] >= whole)
            for row, tight in zip(shown, assign(shown).tight, strict=True)
        ]
        same = _same_graph(expected, needs, fits)
        if same is not None:
            return True, same
    return False, _likeliest(shown, expected, needs).pairs


def _shown(step: Expected, prompt: str, whole: int) -> int:
    if not step.says_item(prompt):
        return 0
    return whole - whole // len(step.must) * len(step.lacks(prompt))


def _same_graph(
    expected: Sequence[frozenset[int]],
    needs: Sequence[frozenset[int]],
    fits: Sequence[frozenset[int]],
) -> dict[int, int] | None:
    """Pair each expected step with one that fits and needs the same; None if that can't be."""
    wanted_places, plan_places = _places(expected), _places(needs)
    if sorted(wanted_places) != sorted(plan_places):
        return None  # no pairing keeps the edges: without this, many lanes are tried in vain
    pairs: dict[int, int] = {}

    def search(row: int) -> bool:
        if row == len(expected):
            return True
        wants = frozenset(pairs[need] for need in expected[row])
        for step in sorted(fits[row].difference(pairs.values())):
            if needs[step] == wants and wanted_places[row] == plan_places[step]:
                pairs[row] = step
                if search(row + 1):
                    return True
                del pairs[row]
        return False

    return pairs if search(0) else None


def _likeliest(
    shown: Sequence[Sequence[int]],
    expected: Sequence[frozenset[int]],
    needs: Sequence[frozenset[int]],
) -> Pairing:
    """Pair by words, and where these leave a choice, by where in the graph the steps stand."""
    wanted_places, plan_places = _places(expected), _places(needs)
    above = 3 * len(expected) + 1  # the words count for more than all places together
    return assign(
        [
            [
                shared * above + sum(a == b for a, b in zip(mine, place, strict=True))
                if shared
                else 0
                for shared, place in zip(row, plan_places, strict=True)
            ]
            for row, mine in zip(shown, wanted_places, strict=True)
        ]
    )


def _places(needs: Sequence[frozenset[int]]) -> list[tuple[int, int, int]]:
    """Return each step's depth, how many it needs, and how many need it."""
    depths: list[int] = []
    for need in needs:
        depths.append(1 + max((depths[n] for n in need), default=-1))
    return [
        (depths[n], len(need), sum(n in other for other in needs)) for n, need in enumerate(needs)
    ]


def _missing(graph: Sequence[Expected], prompts: Sequence[str], pairs: dict[int, int]) -> list[str]:
    flaws: list[str] = []
    for row, step in enumerate(graph):
        if row not in pairs:
            flaws.append(f"{step.key} has no step")
        elif lacks := step.lacks(prompts[pairs[row]]):
            flaws.append(f"{step.key} doesn't say {', '.join(lacks)}")
    return flaws


def _duplicates(plan: TaskIR, objective: str, good: int) -> int:
    repeats = round(score(plan, objective).repeated * len(plan.steps))
    return min(repeats, len(plan.steps) - good)


def _strays(plan: TaskIR, objective: str) -> list[str]:
    known = words(objective)
    prompt_words = {step.id: words(step.prompt) - _TASK for step in plan.steps}
    return [
        f"{step} says what the objective doesn't"
        for step, content in prompt_words.items()
        if 2 * len(content - known) > len(content)
    ]
