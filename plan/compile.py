"""From a plan to a program: `TaskIR` → `CompiledPlan`. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from dataclasses import fields as dataclass_fields
from functools import partial
from typing import Any, Literal

from ..data_types import Finite, Frozen
from ..errors import PlanError
from ..inputs.contents import named_problem
from .bounds import extent_problem
from .call import PlannedCall, call_words
from .collect import collected_output
from .conditions import Condition
from .gate_names import select_gates
from .items import Item, count_items
from .output import WORKSPACE, Output, OutputKind, PlanPart
from .program import Collect, ForEach, Repeat
from .review import CompiledBestOf, CompiledReview, compile_best_of, compile_review
from .step import (
    Agent,
    InnerPlan,
    Step,
    StepSettings,
    TaskType,
    Tier,
    final_step,
    needs_of,
    procedure_words,
    source_of,
)
from .task_ir import TaskIR

__all__ = [
    "CompiledPlan",
    "CompiledStep",
    "Recalled",
    "StepDefaults",
    "StepRecall",
    "Use",
    "compile_plan",
    "shared_rules",
]


Use = Literal["persona", "tier", "lesson", "time"]
"""The use of a memory: a step's persona, first tier, lesson or priority."""


class Recalled(Frozen):
    """An earlier attempt that advises a step; `similarity` is that of the prompts, -1 to 1."""

    run: str
    step: str
    attempt: int
    similarity: float
    uses: tuple[Use, ...] = ()
    why: str


class StepRecall(Frozen):
    """What the memory made of one step, and why.

    Attributes:
        agent: Who does it, for people; `persona` is who that is to the memory.
        by: What decided: what similar steps showed, the wish to find out, or the plan as it is.
        instructions: The persona's own, where it isn't the planner's agent; "" else.
        expected_s: Seconds that an attempt at such a step takes; None if nothing is known.
        lesson: The lesson for the agent from earlier steps, quoted; "" for nothing.
    """

    step: str
    agent: str
    persona: str
    tier: Tier
    by: Literal["memory", "exploration", "rules"] = "rules"
    why: str = ""
    tier_why: str = ""
    instructions: str = ""
    expected_s: Finite | None = None
    lesson: str = ""
    memories: tuple[Recalled, ...] = ()


@dataclass(frozen=True, slots=True)
class StepDefaults:
    """What a step gets where its plan says nothing.

    Attributes:
        max_attempts: Attempts a step may take.
        gates: Gates that a person asks for in addition to those of an output kind; see
            `select_gates`.
    """

    max_attempts: int = 9
    gates: Mapping[OutputKind, tuple[str, ...]] = field(
        default_factory=dict[OutputKind, tuple[str, ...]]
    )


@dataclass(frozen=True, slots=True)
class CompiledStep:
    """A step with everything resolved that running it needs.

    Attributes:
        upstream: Ids of the steps whose outputs it reads.
        priority: Length of the longest path from its start to the plan's end, in the unit of the
            durations it was compiled with; in steps where none were given.
        persona: Who the agent is to the memory; "" for an agent that the planner invented.
        timeout_s: Seconds an attempt may take; None is its tier's.
        model: The model that does it; "" for its tier's.
        settings: How that model is asked.
        inputs: Names of the inputs that it reads; None is all of them for a step without upstream,
            and none for any other.
        tools: Names of the toolsets that its agent works with.
        approval: Whether a person is asked before it begins.
        waits_for: Ids of the steps that it waits for and doesn't read.
        source: The step that has its items; "" if they come from elsewhere.
        follows: That step, where it is followed item by item; then it isn't waited for.
        plan: The steps of the plan inside it, with the ids that they have there.
        final: Which of them has its output.
        item: The text of its item, where that is read like an output; "" for nothing.
        label: Its item in a few words, for people.
        digest: SHA-256 of its item; "" for a step that is no instance.
        about: Its item, whose values its prompt names.
        index: The number of its item, from 1; 0 for none.
        round: The number of its round, from 1; 0 for none.
        lesson: What earlier steps like it have shown, quoted; "" for nothing.
        used: Run, step and attempt of each memory that all this comes from.
        review: Who reviews what it made; None for nobody.
        best_of: How its first attempt is made of samples; None for a single answer.
        planned_instructions: The planner's, where the memory has chosen other ones.
        pool: The work pool on which its members are done; "" for here.
        call: The call that is made in place of its agent; None for a step of an agent.
        undo: The call that undoes what it did; None where nothing does.
        procedure: The procedure that it is, with its values; "" for any other step.
    """

    id: str
    agent: str = ""
    instructions: str = ""
    prompt: str = ""
    tier: Tier = "worker"
    max_tier: Tier = "architect"
    upstream: tuple[str, ...] = ()
    output: Output = field(default_factory=Output)
    gates: tuple[str, ...] = ()
    timeout_s: float | None = None
    max_attempts: int = 9
    optional: bool = False
    priority: float = 1.0
    persona: str = ""
    lesson: str = ""
    model: str = ""
    settings: StepSettings = field(default_factory=StepSettings)
    inputs: tuple[str, ...] | None = None
    used: tuple[tuple[str, str, int], ...] = ()
    tools: tuple[str, ...] = ()
    approval: bool = False
    waits_for: tuple[str, ...] = ()
    source: str = ""
    follows: str = ""
    when: Condition | None = None
    for_each: ForEach | None = None
    repeat: Repeat | None = None
    plan: tuple[CompiledStep, ...] = ()
    final: str = ""
    collect: Collect | None = None
    item: str = ""
    label: str = ""
    digest: str = ""
    about: Item | None = None
    index: int = 0
    round: int = 0
    review: CompiledReview | None = None
    best_of: CompiledBestOf | None = None
    planned_instructions: str = ""
    pool: str = ""
    call: PlannedCall | None = None
    undo: PlannedCall | None = None
    procedure: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """Ids of the steps that come before it: those it reads, waits for or follows."""
        follows = (self.follows,) if self.follows else ()
        return tuple(dict.fromkeys((*self.upstream, *self.waits_for, *follows)))

    @property
    def is_group(self) -> bool:
        """Whether others do its work: instances, rounds, or the steps of its plan."""
        return bool(self.for_each or self.repeat or self.plan)

    @property
    def is_root(self) -> bool:
        """Whether it is one request to a model that waits for nothing."""
        waits = self.upstream or self.waits_for or self.follows or self.when
        return not (waits or self.is_group or self.collect or self.call or self.best_of)


@dataclass(frozen=True, slots=True)
class CompiledPlan:
    """A plan that can be scheduled.

    Attributes:
        final_step: The step whose output is the answer as it stands, if the plan names one.
        inputs: Names and texts of what the plan is given; `inputs_of` says who reads which.
        rules: Rules for every agent: the plan's constraints and assumptions.
        content_hash: SHA-256 over what running the plan depends on; the same in every process and
            Python version. Priorities do not count, since they change when, not what. Nor do the
            most attempts, which a resume may raise.
    """

    objective: str
    steps: tuple[CompiledStep, ...]
    final_step: str | None
    inputs: tuple[tuple[str, str], ...]
    task_type: TaskType
    rules: tuple[str, ...]
    content_hash: str

    def instructions_for(self, system_prompt: str) -> str:
        """Return an agent's instructions: its own system prompt and the rules for every agent."""
        return "\n".join([system_prompt, *self.rules])

    def step(self, step_id: str) -> CompiledStep:
        """Return the step of that id; KeyError if there is none."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)

    def inputs_of(self, step: CompiledStep) -> tuple[tuple[str, str], ...]:
        """Return names and texts of the inputs that a step reads, in the step's order."""
        if step.inputs is None:
            return () if step.upstream else self.inputs
        texts = dict(self.inputs)
        return tuple((name, texts[name]) for name in step.inputs)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as the objects JSON stands for."""
        return json.loads(json.dumps(_fields(self), default=_dump))


def compile_plan(
    plan: TaskIR,
    defaults: StepDefaults | None = None,
    durations: Mapping[str, float] | None = None,
    recall: Sequence[StepRecall] = (),
    toolsets: Collection[str] | None = None,
) -> CompiledPlan:
    """Resolve every step of a plan.

    Args:
        plan: A valid plan.
        defaults: What steps get where the plan says nothing.
        durations: Expected seconds of the steps, by id, for the priorities. Every step counts as 1
            where none are given, and as the mean of the known ones where some are. Those that
            `recall` expects, if left out.
        recall: What the memory made of the steps; it may change who does one and on which tier.
        toolsets: Names of the toolsets that the run has; None leaves them unchecked.

    Raises:
        PlanError: A step names an input that the plan doesn't have, or an agent a toolset that
            the run doesn't; or the steps of a procedure are not there yet.
    """
    _check_resolved(plan.steps)
    _check_inputs(plan.steps, plan.inputs)
    if toolsets is not None:
        _check_toolsets(plan.agents, plan.steps, toolsets)
    if problem := extent_problem(plan, partial(count_items, plan.inputs)):
        raise PlanError(
            f"The plan {problem}.", "Lower max_items or max_rounds, or divide the plan."
        )
    recalled = {step.step: step for step in recall}
    if durations is None:
        durations = {name: step.expected_s for name, step in recalled.items() if step.expected_s}
    compiler = _Compiler(plan, defaults or StepDefaults(), shared_rules(plan), recalled)
    priorities = _remaining_path(plan.steps, _expected(plan.steps, durations))
    steps = compiler.compile(plan.steps, {agent.name: agent for agent in plan.agents}, priorities)
    rules = compiler.rules
    return CompiledPlan(
        objective=plan.objective,
        steps=steps,
        final_step=plan.final_step,
        inputs=tuple(plan.inputs.items()),
        task_type=plan.task_type,
        rules=rules,
        content_hash=_content_hash(plan, steps),
    )


@dataclass(frozen=True, slots=True)
class _Compiler:
    """What all steps of a plan are compiled with."""

    plan: TaskIR
    defaults: StepDefaults
    rules: tuple[str, ...]
    recalled: Mapping[str, StepRecall]

    def compile(
        self,
        steps: Sequence[Step],
        agents: Mapping[str, Agent],
        priorities: Mapping[str, float],
        prefix: str = "",
    ) -> tuple[CompiledStep, ...]:
        """Compile steps that stand side by side; `prefix` is what they are within."""
        earlier: dict[str, Step] = {}
        compiled: list[CompiledStep] = []
        for step in steps:
            made = self._step(step, earlier, agents, priorities[step.id])
            if step.plan:
                made = self._with_plan(made, step.plan, agents, f"{prefix}{step.id}.")
            recall = self.recalled.get(prefix + step.id)
            compiled.append(_apply_recall(made, recall, self.rules))
            earlier[step.id] = step
        return tuple(compiled)

    def _step(
        self,
        step: Step,
        earlier: Mapping[str, Step],
        agents: Mapping[str, Agent],
        priority: float,
    ) -> CompiledStep:
        agent = agents.get(step.agent)
        output = collected_output(step.collect, step.output) if step.collect else step.output
        source = source_of(step) or ""
        follows = source if source and earlier[source].for_each else ""
        waits_for = [name for name in needs_of(step) if name not in step.depends_on]
        made = CompiledStep(
            id=step.id,
            agent=f"{step.call.toolset}.{step.call.tool}" if step.call else step.agent,
            instructions="\n".join([agent.system_prompt, *self.rules]) if agent else "",
            prompt=call_words(step.call) if step.call else step.prompt,
            tier=agent.tier if agent else "worker",
            max_tier=self.plan.escalation.max_tier,
            upstream=step.depends_on,
            output=output,
            gates=self._gates(step, output),
            timeout_s=step.timeout_s,
            max_attempts=self.plan.escalation.max_attempts or self.defaults.max_attempts,
            optional=step.optional,
            priority=priority,
            model=step.model,
            settings=step.settings,
            inputs=step.inputs,
            tools=_toolsets(step, agent),
            approval=step.approval,
            review=compile_review(step.review, agents, self.rules),
            best_of=compile_best_of(step.best_of, agents, self.rules),
            pool=step.pool or "",
            call=step.call,
            undo=step.undo,
            procedure=procedure_words(step),
        )
        if not (step.when or step.for_each or step.repeat or step.collect):
            return made
        return replace(
            made,
            # Another run takes finished steps over: there is nothing to follow item by item.
            waits_for=tuple(name for name in waits_for if step.pool or name != follows),
            source=source,
            follows=follows,
            when=step.when,
            for_each=step.for_each,
            repeat=step.repeat,
            collect=step.collect,
        )

    def _gates(self, step: Step, output: Output) -> tuple[str, ...]:
        if step.call is not None:
            # A tool may return nothing, and what a person asks of a model's texts isn't about it.
            return select_gates(output, step.gates or (), ())
        return select_gates(output, step.gates, self.defaults.gates.get(output.kind))

    def _with_plan(
        self, made: CompiledStep, plan: InnerPlan, agents: Mapping[str, Agent], prefix: str
    ) -> CompiledStep:
        own = {agent.name: agent for agent in plan.agents}
        paths = _remaining_path(plan.steps, _expected(plan.steps, {}))
        # Steps of one plan are told apart by a part of what the plan's own priority is.
        longest = max(paths.values())
        priorities = {name: made.priority + path / longest for name, path in paths.items()}
        steps = self.compile(plan.steps, {**agents, **own}, priorities, prefix)
        final = plan.final_step or final_step(plan.steps) or plan.steps[-1].id
        return replace(made, plan=steps, final=final, gates=())


def _toolsets(step: Step, agent: Agent | None) -> tuple[str, ...]:
    """Return the toolsets that a step works with."""
    if step.call is not None:
        return (step.call.toolset,)
    tools = agent.tools if agent else ()
    return tools if step.output.kind != "patch" or WORKSPACE in tools else (*tools, WORKSPACE)


def _check_resolved(steps: Iterable[Step], prefix: str = "") -> None:
    for step in steps:
        if step.plan is not None:
            _check_resolved(step.plan.steps, f"{prefix}{step.id}.")
        elif step.procedure:
            raise PlanError(
                f"Step {prefix}{step.id} is the procedure {step.procedure}, whose steps are not in "
                "the plan yet.",
                "Fill them in first: prefect_swarm.plan.procedure_steps.resolve.",
            )


def _check_inputs(steps: Iterable[Step], inputs: Collection[str]) -> None:
    for step in steps:
        if problem := named_problem(step.inputs or (), inputs):
            raise PlanError(
                f"The plan breaks a rule: step {step.id} {problem}.",
                "Give that input, or correct its name.",
            )
        if step.plan:
            _check_inputs(step.plan.steps, inputs)


def _check_toolsets(
    agents: Iterable[Agent], steps: Iterable[Step], toolsets: Collection[str]
) -> None:
    has = f"There are {', '.join(sorted(toolsets))}." if toolsets else "There are none."
    for agent in agents:
        for name in agent.tools:
            if name not in toolsets:
                raise PlanError(
                    f"The plan breaks a rule: agent {agent.name!r} has the toolset {name!r}, "
                    f"which this run doesn't have. {has}",
                    "Configure it (--mcp FILE, --documents FOLDER), or correct its name.",
                )
    for step in steps:
        for call in filter(None, (step.call, step.undo)):
            if call.toolset not in toolsets:
                raise PlanError(
                    f"The plan breaks a rule: step {step.id} calls {call.tool} of the toolset "
                    f"{call.toolset!r}, which this run doesn't have. {has}",
                    "Configure it (--mcp FILE), or correct its name.",
                )
        if step.plan:
            _check_toolsets(step.plan.agents, step.plan.steps, toolsets)


def _apply_recall(
    step: CompiledStep, recall: StepRecall | None, rules: Sequence[str]
) -> CompiledStep:
    """Give a step the agent and tier that the memory chose, and the lesson that it recalled."""
    if recall is None:
        return step
    own = "\n".join([recall.instructions, *rules]) if recall.instructions else step.instructions
    return replace(
        step,
        agent=recall.agent,
        instructions=own,
        planned_instructions=step.instructions if own != step.instructions else "",
        tier=recall.tier,
        persona=recall.persona,
        lesson=recall.lesson,
        # What it was expected to take has no share in how it goes, and gets no credit for it.
        used=tuple(
            (memory.run, memory.step, memory.attempt)
            for memory in recall.memories
            if memory.uses != ("time",)
        ),
    )


def shared_rules(plan: TaskIR) -> tuple[str, ...]:
    """Return what all agents of a plan are told: its constraints and assumptions."""
    return (
        *(f"Keep to this: {constraint}" for constraint in plan.constraints),
        *(f"Take this for granted: {assumption}" for assumption in plan.assumptions),
    )


def _expected(steps: Sequence[Step], durations: Mapping[str, float]) -> dict[str, float]:
    known = [durations[step.id] for step in steps if step.id in durations]
    typical = sum(known) / len(known) if known else 1.0
    return {step.id: durations.get(step.id, typical) for step in steps}


def _remaining_path(steps: Sequence[Step], expected: Mapping[str, float]) -> dict[str, float]:
    after: dict[str, float] = {step.id: 0.0 for step in steps}
    remaining: dict[str, float] = {}
    for step in reversed(steps):
        remaining[step.id] = expected[step.id] + after[step.id]
        for needed in needs_of(step):
            after[needed] = max(after[needed], remaining[step.id])
    return remaining


_LATER_FIELDS: Mapping[str, object] = {
    "inputs": None,
    "tools": (),
    "approval": False,
    "waits_for": (),
    "source": "",
    "follows": "",
    "when": None,
    "for_each": None,
    "repeat": None,
    "plan": (),
    "final": "",
    "collect": None,
    "item": "",
    "label": "",
    "digest": "",
    "about": None,
    "index": 0,
    "round": 0,
    "review": None,
    "best_of": None,
    "pool": "",
    "call": None,
    "undo": None,
}
"""Fields that plans of earlier versions didn't have, and what each is where it says nothing."""


_NOT_HASHED = (
    "priority",
    "persona",
    "used",
    "max_attempts",
    "planned_instructions",
    "procedure",
)


def _content_hash(plan: TaskIR, steps: Sequence[CompiledStep]) -> str:
    content: list[dict[str, Any]] = []
    for step in steps:
        fields = _fields(step)
        for name in _NOT_HASHED:
            del fields[name]
        # So that plans of earlier versions have the hash that they had.
        for name, empty in _LATER_FIELDS.items():
            if fields[name] == empty:
                del fields[name]
        content.append(fields)
    context = {
        "objective": plan.objective,
        "inputs": plan.inputs,
        "definition_of_done": plan.definition_of_done,
        "final_step": plan.final_step,
        "steps": content,
    }
    text = json.dumps(context, sort_keys=True, separators=(",", ":"), default=_hashed)
    return hashlib.sha256(text.encode()).hexdigest()


def _fields(value: CompiledPlan | CompiledStep) -> dict[str, Any]:
    """Return the fields by name, as they are: `asdict` copies all that they hold."""
    return {field.name: getattr(value, field.name) for field in dataclass_fields(value)}


_WHOLE = (Output, StepSettings)
"""Parts that are written with what they leave out, as ever; a condition goes by what it has."""


def _hashed(value: object) -> object:
    if isinstance(value, CompiledStep):
        return {name: each for name, each in _fields(value).items() if name != "procedure"}
    return _dump(value)


def _dump(value: object) -> object:
    if isinstance(value, PlanPart):
        return value.model_dump(mode="json", exclude_unset=not isinstance(value, _WHOLE))
    if isinstance(value, CompiledStep):
        return _fields(value)
    if isinstance(value, CompiledReview | CompiledBestOf):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} can't be written as JSON")
