"""Editing a run's plan: as YAML, and what is done anew once it takes the other's place."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import yaml
from pydantic import TypeAdapter, ValidationError

from ..approvals.question import Answer
from ..approvals.store import Approvals
from ..errors import InputError, RunDamagedError
from ..formats.yaml_text import NoYamlError, plain_value, read_yaml
from ..runs import RunFolder
from ..task_ir import PlanRules, TaskIR, check_objective, parse_plan
from ..tasks.planner.task import Planned
from ..text import visible
from .compile import CompiledPlan
from .options import SwarmOptions, stored_options
from .planning import plan_rules
from .stored.planned import StoredPlanning, load

__all__ = [
    "LineProblem",
    "current_plan",
    "edited_source",
    "keep_unchanged",
    "marked",
    "options_of",
    "plan_from",
    "plan_text",
    "problems_of",
    "read_compiled",
    "rules_of",
    "step_digests",
    "steps_written",
    "unchanged_steps",
    "without_marks",
]


_PLAN: TypeAdapter[CompiledPlan] = TypeAdapter(CompiledPlan)


def unchanged_steps(
    before: CompiledPlan, after: CompiledPlan, finished: Collection[str]
) -> frozenset[str]:
    """Return the ids of the finished steps whose output another plan may take over.

    They are there under the same id in both, asked for the same in the same words, and read the
    same. Who does a step, on which model and tier, and within which bounds, doesn't count.

    Args:
        before: The plan by which they were done.
        after: The plan that takes its place.
        finished: Ids of the steps that have succeeded.
    """
    old, new = step_digests(before), step_digests(after)
    return frozenset(name for name in finished if name in new and old.get(name) == new[name])


def step_digests(plan: CompiledPlan) -> dict[str, str]:
    """Return a hash of each step, by its id: of what it is asked for, and of all that it reads.

    That is its instructions, prompt, output, gates and tools, the texts of its inputs, and the
    hashes of the steps before it.
    """
    digests: dict[str, str] = {}
    for step in plan.steps:
        content = {
            "instructions": step.instructions,
            "prompt": step.prompt,
            "output": step.output.model_dump(mode="json"),
            "gates": step.gates,
            "tools": step.tools,
            "inputs": plan.inputs_of(step),
            "upstream": [(name, digests[name]) for name in step.upstream],
        }
        digests[step.id] = _digest(content)
    return digests


def read_compiled(data: Mapping[str, Any]) -> CompiledPlan | None:
    """Return a plan as `CompiledPlan.to_json` wrote it; None if it is none."""
    try:
        plan = _PLAN.validate_python(data)
        step_digests(plan)
    except (ValidationError, KeyError):  # A step reads what isn't there.
        return None
    return plan


def _digest(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_MARK = "# ERROR: "
_STEP = re.compile(r"\bstep (S[0-9]+)\b")
_HEAD = """\
# The plan as it would run. Save it to run it as it is then; leave it as it is, or empty, to be
# asked again. Texts that the run was given are left out here, and stay.
"""


@dataclass(frozen=True, slots=True)
class LineProblem:
    """What is wrong with a plan's text; `line` counts from 1, 0 where it is no line's."""

    line: int
    problem: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.problem}" if self.line else self.problem


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such, and lists as people indent them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        return super().increase_indent(flow, False)


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    represent = cast("Callable[..., yaml.ScalarNode]", cast("Any", dumper).represent_scalar)
    # What is hidden, or a line's end to some readers and not to others, is written as an escape.
    is_odd = visible(text) != text or not text.replace("\n", "").replace("\t", "").isprintable()
    style = '"' if is_odd or _is_read_otherwise(text) else "|" if "\n" in text else None
    return represent("tag:yaml.org,2002:str", text, style=style)


def _is_read_otherwise(text: str) -> bool:
    """Whether a text without quotes is read as something else, such as a number."""
    try:
        return plain_value(text) is not text
    except ValueError:
        return True


_Dumper.add_representer(str, _text_node)


def plan_text(plan: TaskIR) -> str:
    """Write a plan as YAML: what differs from the defaults, without the texts of its inputs."""
    data = plan.model_dump(mode="json", exclude_defaults=True, exclude={"inputs"}, by_alias=True)
    text = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=96)
    # What is hidden stands in quotes, where the escapes of `visible` are YAML's.
    return _HEAD + visible(text)


def plan_from(data: Mapping[str, Any], before: TaskIR, rules: PlanRules) -> TaskIR:
    """Return the plan that some data has, in the place of another one.

    Inputs that the data doesn't name stay as they were.

    Raises:
        PlanError: It breaks a rule.
        InputError: It has another objective.
    """
    plan = parse_plan(_whole(data, before), rules)
    check_objective(plan, before.objective)
    return plan


def _whole(data: Mapping[str, Any], before: TaskIR) -> dict[str, Any]:
    given: object = data.get("inputs") or {}
    more = cast("dict[str, Any]", given) if isinstance(given, dict) else {"inputs": given}
    inputs = {**before.inputs, **more}
    return {"objective": before.objective, **data, "inputs": inputs}


def problems_of(text: str, before: TaskIR, rules: PlanRules) -> TaskIR | tuple[LineProblem, ...]:
    """Return the plan that a text has, or all that is wrong with it, in the order of its lines."""
    try:
        data, root = read_yaml(text)
    except NoYamlError as error:
        where = f"no YAML at column {error.column}"
        return (LineProblem(error.line, f"{where}: {error.problem}"),)
    if not isinstance(data, dict) or root is None:
        return (LineProblem(1, "a plan is a mapping with agents and steps"),)
    return _validated(cast("dict[str, Any]", data), root, before, rules)


def _validated(
    data: dict[str, Any], root: yaml.Node, before: TaskIR, rules: PlanRules
) -> TaskIR | tuple[LineProblem, ...]:
    if data.get("objective", before.objective) != before.objective:
        line = _line_of(root, ("objective",))
        return (LineProblem(line, f"the objective has to stay {before.objective!r}"),)
    try:
        return TaskIR.model_validate(_whole(data, before), context=rules)
    except ValidationError as error:
        return tuple(sorted(_located(error, data, root), key=lambda found: found.line))


def _located(
    error: ValidationError, data: Mapping[str, Any], root: yaml.Node
) -> Iterator[LineProblem]:
    for problem in error.errors(include_url=False):
        path, message = problem["loc"], problem["msg"].removeprefix("Value error, ")
        field = str(path[-1]) if path and isinstance(path[-1], str) else ""
        if problem["type"] == "bool_type":
            message = f"{message}: write true or false"
        words = f"{field}: {message}" if field else message
        line = _line_of(root, path) if path else _line_of_steps(root, data, words)
        yield LineProblem(line, " ".join(words.split()))


def _line_of(root: yaml.Node, path: Sequence[int | str]) -> int:
    """Return the line of what a path leads to, or of the last part of it that is there."""
    node, line = root, root.start_mark.line + 1
    for part in path:
        if isinstance(node, yaml.MappingNode):
            entries = {key.value: (key, value) for key, value in node.value}
            if part not in entries:
                return line
            key, node = entries[part]
            line = key.start_mark.line + 1
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            if part >= len(node.value):
                return line
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _line_of_steps(root: yaml.Node, data: Mapping[str, Any], words: str) -> int:
    """Return the line of the step that a problem of the whole plan names; 0 if it names none."""
    named = _STEP.search(words)
    steps = data.get("steps")
    if named is None or not isinstance(steps, list):
        return 0
    for index, step in enumerate(cast("list[Any]", steps)):
        if isinstance(step, dict) and cast("dict[str, Any]", step).get("id") == named[1]:
            return _line_of(root, ("steps", index))
    return 0


def marked(text: str, problems: Sequence[LineProblem]) -> str:
    """Return a text with each problem in a line of its own above the line that it is in."""
    lines = text.removesuffix("\n").split("\n")
    for problem in sorted(problems, key=lambda found: found.line, reverse=True):
        at = max(0, problem.line - 1)
        above = lines[at] if at < len(lines) else ""
        indent = above[: len(above) - len(above.lstrip())]
        lines.insert(min(at, len(lines)), f"{indent}{_MARK}{problem.problem}")
    return "\n".join(lines) + "\n"


def without_marks(text: str) -> str:
    """Return a text without the problems that `marked` has put into it."""
    lines = text.removesuffix("\n").split("\n")
    kept = (line for line in lines if not line.lstrip().startswith(_MARK))
    return "".join(f"{line}\n" for line in kept)


_logger = logging.getLogger("prefect_swarm.runs")
_EDITED = "edited by a person"


def edited_source(source: Planned, edits: Sequence[Answer], rules: PlanRules) -> Planned:
    """Return the plan that a person made of a run's, the last of several; it itself without any.

    Raises:
        PlanError: It breaks a rule.
    """
    if not edits:
        return source
    plan = source.plan
    for edit in edits:
        plan = plan_from(edit.plan or {}, plan, rules)
    choice = "; ".join(filter(None, [source.planning.choice, _EDITED]))
    return source.model_copy(
        update={"plan": plan, "planning": source.planning.model_copy(update={"choice": choice})}
    )


def steps_written(source: Planned, edited: TaskIR) -> frozenset[str]:
    """Return the ids of the steps of which a person wrote who does them.

    They are all but those that a plan of the orchestrator's still has as it wrote them.
    """
    steps = edited.steps
    if source.planning.source != "orchestrator":
        return frozenset(step.id for step in steps)
    before, after = _agents_of(source.plan), _agents_of(edited)
    return frozenset(step.id for step in steps if before.get(step.id) != after[step.id])


def _agents_of(plan: TaskIR) -> dict[str, tuple[str, str]]:
    prompts = {agent.name: agent.system_prompt for agent in plan.agents}
    return {step.id: (step.agent, prompts[step.agent]) for step in plan.steps}


def keep_unchanged(run: RunFolder, plan: CompiledPlan) -> None:
    """Forget what was done of steps that a plan has changed, and what was asked about them.

    Args:
        plan: The plan that takes the place of the one that `plan.json` has.
    """
    finished = run.finished_steps()
    before = _before(run)
    kept = unchanged_steps(before, plan, finished) if before else frozenset[str]()
    for name in finished:
        if name not in kept:
            # The step's record first: an output without one counts for nothing.
            run.remove(f"steps/{name}.json")
            run.remove(f"outputs/{name}.txt")
    _withdraw(run, plan)


def _withdraw(run: RunFolder, plan: CompiledPlan) -> None:
    approvals, current = Approvals(run), set(step_digests(plan).values())
    for question in approvals.pending():
        if question.asked == "plan" or question.subject not in current:
            approvals.withdraw(question)


def _before(run: RunFolder) -> CompiledPlan | None:
    with suppress(RunDamagedError):
        if data := run.read_json("plan.json"):
            if (found := read_compiled(data)) is not None:
                return found
            _logger.warning("%s is damaged. All steps are done anew.", run.folder / "plan.json")
    return None


def current_plan(run: RunFolder) -> TaskIR:
    """Return the plan of a run.

    Raises:
        InputError: It has none yet, or none that can be read.
    """
    kept = load(run, StoredPlanning)
    if kept is None:
        raise InputError(
            f"Run {run.run_id} has no plan yet.", f"See: prefect-swarm inspect {run.run_id}"
        )
    return edited_source(kept.planned, Approvals(run).edits(), rules_of(run)).plan


def options_of(run: RunFolder) -> SwarmOptions:
    """Return the options that a run was started with.

    Raises:
        RunDamagedError: They aren't options.
    """
    with run.readable("run.json"):
        return stored_options(run.about().get("options"))


def rules_of(run: RunFolder) -> PlanRules:
    """Return what bounds a plan of a run."""
    return plan_rules(options_of(run))
