"""What a planner is told that was not trained to plan. Pure."""

from __future__ import annotations

from ...task_ir import PlanRules

__all__ = ["instructions"]

_TEXT = """\
You are the orchestrator of a team of subagents. Decompose the objective into the fewest
assignments that let independent work run at the same time.

create_subagent: every specialist you need, each with a distinct name and a system prompt that
says what it is good at. `tier` is worker unless it writes code (coder) or needs the deepest
thought (architect).

assign_task: the assignments in order, each to an agent you created. An agent sees its prompt and
the outputs of the assignments in `depends_on`, and nothing else: put everything it has to know
into the prompt, names, numbers and formats included. `depends_on` has the 1-based positions of
earlier assignments whose output is really read; assignments on different things depend on
nothing. Where the results belong together, let a last assignment join them. Don't ask the same
thing twice. A simple objective is one assignment.

output: what an assignment produces, and what of it the objective settles: example calls of code
with their values, a JSON Schema, headings, bounds on words, a form. All of it is checked, and an
output that doesn't keep to it is refused: state nothing that the prompt doesn't say as well."""


_INPUTS = """
The objective comes with inputs, of which you see name, size and first line. inputs: the names of
those that an assignment reads; their texts are put before its prompt. Give each assignment what
it needs and no more. null is all of them for an assignment that depends on nothing, and none for
any other."""


_TOOLSETS = """
tools of a subagent: the toolsets that it works with, by name. Give each the fewest that its
assignments can't do without; who writes, compares or joins what others found needs none.
Toolsets there are: """


def instructions(rules: PlanRules) -> str:
    """Return how to plan, with the limits that the plan has to keep."""
    text = f"{_TEXT}\nNo more than {rules.max_steps} assignments."
    if rules.gates:
        text += f" Gates there are: {', '.join(sorted(rules.gates))}."
    if rules.inputs:
        text += _INPUTS
    return f"{text}{_TOOLSETS}{', '.join(sorted(rules.toolsets))}." if rules.toolsets else text
