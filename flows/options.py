"""Options of a run, and those that may change when it is resumed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WithJsonSchema

from ..data_types import Frozen
from ..errors import Category, InputError, ModelError
from ..models.names import is_variable, refuse_secrets, servers_of, with_key
from ..plan.output import schema_problem
from ..plan.procedure import ProcedureBounds
from ..plan.task_ir import MAX_STEPS, TIERS, OutputKind, TaskType, Tier, TierName
from ..settings import default_model
from ..store.failure_policy import Policy
from ..store.result import SwarmResult
from ..store.step import StepState
from ..tasks.failure_router import ATTEMPTS_SPENT, counts
from ..toolsets.names import ToolLimits

__all__ = [
    "CHANGEABLE",
    "Approve",
    "CallBounds",
    "ModelName",
    "SwarmOptions",
    "TierOptions",
    "changed_options",
    "check_not_undone",
    "checked_options",
    "goes_on",
    "steps_to_begin_again",
    "stored_options",
    "undone_steps",
    "with_changes",
    "within_bounds",
]


Approve = Literal["plan", "acting", "tools", "steps", "turns"]


def _name(value: object) -> object:
    """Take the name in this process for a model or an agent that is given in Python."""
    if value is None or isinstance(value, str):
        return value
    # The command line reads options before it needs pydantic-ai.
    from pydantic_ai import Agent
    from pydantic_ai.models import Model

    from ..models.names import register_model

    return register_model(cast("Any", value)) if isinstance(value, Model | Agent) else value


if TYPE_CHECKING:
    from ..models.names import RegisteredModel

    ModelName = str | RegisteredModel
else:
    ModelName = Annotated[str, BeforeValidator(_name), WithJsonSchema({"type": "string"})]
"""A model's name, or several with commas between; in Python also a pydantic-ai model or agent, for
which a name is kept."""


def _checked(schema: dict[str, Any]) -> dict[str, Any]:
    if problem := schema_problem(schema):
        raise ValueError(problem)
    return schema


class CallBounds(Frozen):
    """What a call may take; what is empty follows from the model's profile."""

    max_output_tokens: int | None = Field(
        default=None, ge=1, description="Tokens a call may write; the model's own where empty."
    )
    max_input_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Tokens of earlier outputs a step may read; what its model's context has room "
        "for where empty.",
    )
    temperature: float | None = Field(
        default=None, ge=0, description="Sampling temperature; the model's own where empty."
    )


class TierOptions(CallBounds):
    """Bounds of one tier; they come before those of the run."""

    concurrency: int | None = Field(default=None, ge=1, description="Attempts in parallel.")
    timeout_s: float | None = Field(default=None, gt=0, description="Seconds of an attempt.")
    resource: str | None = Field(
        default=None,
        min_length=1,
        description="Resource of a Dask worker that an attempt takes one of.",
    )


class SwarmOptions(CallBounds):
    """Models and budgets of a run. A tier without a model of its own takes `model`."""

    model: ModelName = Field(
        default_factory=default_model,
        min_length=1,
        description="Model for every tier: demo, llamacpp:PATH, block:SLUG/NAME, PROVIDER:NAME or "
        "openai:NAME@URL. Of several, a,b, the next one serves when one is down. Where empty, the "
        "setting PREFECT_INTEGRATIONS_SWARM_MODEL.",
    )
    worker: ModelName | None = Field(default=None, description="Model of the cheapest tier.")
    coder: ModelName | None = Field(default=None, description="Model of the middle tier.")
    architect: ModelName | None = Field(
        default=None, description="Model of the most expensive tier."
    )
    orchestrator: ModelName | None = Field(
        default=None, description="Model that plans and joins the answer."
    )
    key_env: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable with the key of models at a URL.",
    )
    adapter: bool = Field(
        default=True,
        description="Whether a local orchestrator plans with the adapter that was trained for it.",
    )
    max_steps: int = Field(
        default=MAX_STEPS, ge=1, le=MAX_STEPS, description="Steps a plan may have."
    )
    max_concurrency: int | None = Field(
        default=None,
        ge=1,
        description="Attempts that may run in parallel; what the models take if empty.",
    )
    tiers: dict[TierName, TierOptions] = Field(
        default_factory=dict[TierName, TierOptions],
        description="Bounds of single tiers: max_output_tokens, max_input_tokens, temperature, "
        "concurrency, timeout_s, resource.",
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="Tokens the run may read and write."
    )
    max_usd: float | None = Field(
        default=None, gt=0, description="US dollars the run may cost, by the price table."
    )
    timeout_s: float | None = Field(default=None, gt=0, description="Seconds the run may take.")
    step_timeout_s: float | None = Field(
        default=None,
        gt=0,
        description="Seconds an attempt may work; waits for a provider don't count.",
    )
    max_attempts: int = Field(default=9, ge=1, description="Attempts a step may take.")
    gates: dict[OutputKind, tuple[str, ...]] = Field(
        default_factory=dict[OutputKind, tuple[str, ...]],
        description="Gates by output kind: names replace the kind's own, +name and -name change "
        "them, name? is tried and stops nothing.",
    )
    gate_concurrency: int = Field(default=2, ge=1, description="Light gates to run in parallel.")
    executor: str = Field(
        default="local",
        pattern=r"^(local|dask:(tcp|tls)://[^\s/@]+:\d+)$",
        description="Where attempts are worked on: local, in this process, or "
        "dask:tcp://HOST:PORT, by the workers of a Dask scheduler.",
    )
    gate_resource: str | None = Field(
        default=None,
        min_length=1,
        description="Resource of a Dask worker that each gate takes one of which needs the "
        "sandbox.",
    )
    provider_limits: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="Prefect's global concurrency limits that a provider's requests take slots of, "
        "by the provider.",
    )
    policy_block: str | None = Field(
        default=None, description="Name of a failure-policy block that takes the policy's place."
    )
    policy: Policy = Field(
        default_factory=Policy,
        description="What failures lead to: a table; `prefect-swarm docs failures` has its form.",
    )
    memory: bool = Field(
        default=True, description="Whether the run remembers, and goes by what is remembered."
    )
    namespace: str = Field(
        default="default",
        min_length=1,
        max_length=80,
        description="Namespace of the memory; namespaces never read each other.",
    )
    embedder: str = Field(
        default="wordllama",
        min_length=1,
        description="Embedder for similar steps: wordllama, llamacpp:PATH or PROVIDER:MODEL.",
    )
    plan_context: bool = Field(
        default=True,
        description="Whether the planner is shown tiers, gates, procedures and, of the memory, "
        "personas and similar plans; the embedded one never is.",
    )
    seed: int | None = Field(
        default=None, ge=0, description="Seed of sampling; providers are sent none where empty."
    )
    stream_text: bool = Field(
        default=False,
        description="Whether providers are asked to stream, so that the text of running steps is "
        "among the events; what local models write always is.",
    )
    stream_plan: bool = Field(
        default=True,
        description="Whether the orchestrator is asked to stream its plan, so that steps start "
        "while it is written; not where tokens or money are bounded.",
    )
    pages: bool = Field(
        default=True,
        description="Whether the run has pages in the Prefect UI: answer, plan, timeline and one "
        "of each step.",
    )
    notices: bool = Field(
        default=True,
        description="Whether the Prefect server gets events of the run, which automations may act "
        "upon: an approval waits, a gate failed, a bound is near.",
    )
    mcp: str | None = Field(
        default=None,
        description="MCP servers whose tools agents may have: a file in the usual mcpServers form, "
        "or block:mcp-server/NAME; several with commas between.",
    )
    documents: tuple[str, ...] = Field(
        default=(),
        description="Folders, files and patterns such as papers/**/*.pdf that the toolset "
        "documents may search and open; !PATTERN leaves some out.",
    )
    workspace: str | None = Field(
        default=None,
        min_length=1,
        description="Folder that steps may read, and change by patches: a git repository, or any "
        "folder. It is copied when the run begins, and `apply` alone writes to it.",
    )
    checks: tuple[str, ...] = Field(
        default=(),
        description="Command that a patch of the workspace has to pass as it passes without it, "
        "such as 'pytest -q'; repeatable.",
    )
    python: str | None = Field(
        default=None,
        min_length=1,
        description="Python of the workspace's own environment, which its checks find first on "
        "PATH, such as .venv/bin/python.",
    )
    toolsets: tuple[str, ...] | None = Field(
        default=None,
        description="Toolsets that the planner may give agents; all but web where empty.",
    )
    tool_limits: ToolLimits = Field(
        default_factory=ToolLimits,
        description="Bounds of tools: calls an attempt, seconds and characters a call, calls "
        "at_once to a server.",
    )
    turns: int = Field(
        default=6,
        ge=1,
        le=15,
        description="Turns of the orchestrator: after the plan it may see results and add to it. "
        "Not where a model file plans with an adapter, or the plan is given.",
    )
    explore: int = Field(
        default=0,
        ge=0,
        description="Calls of tools that the orchestrator may make before it plans.",
    )
    approve: tuple[Approve, ...] = Field(
        default=(),
        description="What needs a person's approval: the plan; a plan with steps that act and "
        "that nothing undoes; what each further turn of the orchestrator adds to it; calls of "
        "acting tools; steps that the plan marks.",
    )
    start_over: bool = Field(
        default=False,
        description="Whether a run that has begun, and whose folder isn't here, begins from "
        "nothing at full cost; else it is handed back or refused.",
    )
    options_block: str | None = Field(
        default=None,
        min_length=1,
        description="Name of a swarm-options block whose options hold where neither the deployment "
        "nor the run says otherwise; read when the run begins.",
    )
    output_to: str | None = Field(
        default=None,
        min_length=1,
        description="Folder of a storage block that the answer and the artifacts are written into "
        "when the run has ended: TYPE/NAME:PATH. {run} and {date} in it are the run's.",
    )
    answer_schema: Annotated[dict[str, Any], AfterValidator(_checked)] | None = Field(
        default=None, description="JSON Schema that the answer has to fit."
    )

    def model_of(self, tier: TierName) -> str:
        """Return the name of a tier's model, or of several that stand in for one another."""
        own: str | None = getattr(self, tier)
        return with_key(own or cast("str", self.model), self.key_env)

    def refuse_secrets(self) -> None:
        """Refuse models whose names have a password or key: options are stored and shown.

        Raises:
            InputError: One has.
        """
        for name in self._names():
            refuse_secrets(name)
        if self.key_env is not None and not is_variable(self.key_env):
            raise _key_in_place_of_name()

    def named(self, model: str) -> str:
        """Return the name of a plan's own model, with the variable that has its key.

        The key goes to servers alone that the options name: a plan may be somebody else's.
        """
        servers = frozenset[str]().union(*map(servers_of, self._names()))
        return with_key(model, self.key_env, servers)

    def _names(self) -> list[str]:
        fields = ("model", "worker", "coder", "architect", "orchestrator")
        return [name for field in fields if (name := getattr(self, field))]

    def ladder(
        self, highest: Tier = "architect", task_type: TaskType = "chat", start: Tier = "worker"
    ) -> tuple[Tier, ...]:
        """Return a step's tier and those above that are worth climbing, cheapest first.

        Each has a model of its own, so that no step comes to a model that it has been with. What
        two blocks hold isn't looked at: those of two names are two models.
        """
        seen: dict[str, Tier] = {_served(self.model_of(start)): start}
        for tier in self.policy.ladders.get(task_type, TIERS):
            if TIERS.index(start) < TIERS.index(tier) <= TIERS.index(highest):
                seen.setdefault(_served(self.model_of(tier)), tier)
        return tuple(seen.values())


def _key_in_place_of_name() -> InputError:
    return InputError(
        "key_env is a key, and not the name of an environment variable.",
        "Put the key into an environment variable, and give its name.",
    )


def stored_options(data: object) -> SwarmOptions:
    """Return the options of a run without the fields of earlier versions that are gone."""
    fields = cast("dict[str, object]", data) if isinstance(data, dict) else {}
    known = {name: value for name, value in fields.items() if name in SwarmOptions.model_fields}
    return SwarmOptions.model_validate(known)


def _served(name: str) -> str:
    """Return what models of several names have in common that are one: a local one's file."""
    kind, _, path = name.partition(":")
    if name == "demo":
        # The command line reads options before it needs Prefect, which blocks import.
        from ..models.llama.gguf import demo_model_path

        with suppress(ModelError):
            return str(demo_model_path().resolve())
    if kind == "llamacpp" and path:
        return str(Path(path).resolve())
    return name


CHANGEABLE = (
    "model",
    "worker",
    "coder",
    "architect",
    "orchestrator",
    "key_env",
    "max_concurrency",
    "tiers",
    "max_tokens",
    "max_usd",
    "timeout_s",
    "step_timeout_s",
    "max_attempts",
    "max_output_tokens",
    "max_input_tokens",
    "temperature",
    "executor",
    "gate_resource",
    "provider_limits",
    "start_over",
)
"""The options that a resumed run may get other values for: its models, its bounds, where
its attempts are worked on, and whether it begins from nothing where its folder isn't."""


def changed_options(stored: SwarmOptions, changes: Mapping[str, Any]) -> SwarmOptions:
    """Return a run's options with some of them changed; bounds of tiers are changed by the bound.

    Raises:
        InputError: An option can't be changed any more, or its value is out of its range.
    """
    if unknown := sorted(set(changes) - set(CHANGEABLE)):
        raise InputError(
            f"{unknown[0]} can't be changed in a run that has begun.",
            f"These can: {', '.join(CHANGEABLE)}.",
        )
    return with_changes(stored, changes)


def with_changes(stored: SwarmOptions, changes: Mapping[str, Any]) -> SwarmOptions:
    """Return options with some of them changed; bounds of tiers and tools are changed each alone.

    Raises:
        InputError: A value is out of its range.
    """
    values = {**stored.model_dump(mode="json"), **changes}
    if limits := changes.get("tool_limits"):
        values["tool_limits"] = {**stored.tool_limits.model_dump(mode="json"), **dict(limits)}
    if tiers := cast("Mapping[str, Mapping[str, Any]] | None", changes.get("tiers")):
        before = stored.model_dump(mode="json", exclude_none=True)["tiers"]
        values["tiers"] = before | {
            tier: {**before.get(tier, {}), **bounds} for tier, bounds in tiers.items()
        }
    return checked_options(values)


def checked_options(values: Mapping[str, Any]) -> SwarmOptions:
    """Return options that have these values, by the option's name.

    Raises:
        InputError: A value is out of its range, or no option has the name.
    """
    try:
        return SwarmOptions.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        if where == "key_env":  # It may be the key itself.
            raise _key_in_place_of_name() from None
        raise InputError(f"{where} got {first['input']!r}: {first['msg']}.") from None


def within_bounds(options: SwarmOptions, bounds: ProcedureBounds) -> SwarmOptions:
    """Return options with a procedure's bounds where they have none of their own."""
    unbounded = {
        name: bound
        for name, bound in bounds
        if bound is not None and getattr(options, name) is None
    }
    return options.model_copy(update=unbounded)


def goes_on(result: SwarmResult, *, retry_failed: bool, changes: Mapping[str, Any]) -> bool:
    """Say whether anything of a run that has ended is done when it is resumed.

    Raises:
        InputError: Changes were given, and nothing would come of them.
    """
    if result.status != "partial":
        return result.status != "completed"
    if retry_failed:
        return True
    if changes and not any(_stopped_by_bound(step, changes) for step in result.steps):
        raise InputError(
            f"Run {result.run_id} is partial, but no step was stopped by what was changed.",
            "Add --retry-failed to retry the failed steps.",
        )
    return bool(changes)


def undone_steps(result: SwarmResult) -> tuple[str, ...]:
    """Return the ids of the steps whose acts were undone when a run ended."""
    return tuple(each.step for each in result.undone if not each.problem)


def check_not_undone(result: SwarmResult) -> None:
    """Refuse to go on with a run whose steps were undone: their outputs speak of what is gone.

    Raises:
        InputError: Something was undone.
    """
    if undone := undone_steps(result):
        raise InputError(
            f"What {', '.join(undone)} of run {result.run_id} did was undone, so the run doesn't "
            "go on.",
            "Begin a new run of the same plan: prefect-swarm run --plan FILE, or --procedure NAME.",
        )


def steps_to_begin_again(
    result: SwarmResult, *, retry_failed: bool, changes: Mapping[str, Any]
) -> frozenset[str]:
    """Return the steps whose attempts are made anew; others that failed go on after their last.

    A step that had succeeded is never among them.
    """
    everything = retry_failed or result.status == "failed"
    return frozenset(
        step.id
        for step in result.steps
        if step.attempts and step.status != "succeeded" and _begins_again(step, changes, everything)
    )


def _begins_again(step: StepState, changes: Mapping[str, Any], everything: bool) -> bool:
    if step.category is Category.BUDGET:
        # One that was refused has attempts that are worth keeping; one whose last attempt ran out
        # of room would come from the cache as it was. What couldn't be reviewed is worth keeping.
        last = step.attempts[-1]
        is_kept = any(gate.category is Category.BUDGET for gate in last.gates)
        is_cut = last.category is Category.BUDGET and not is_kept
        return is_cut and (everything or bool(changes))
    return everything and not _used_up(step, changes)


def _stopped_by_bound(step: StepState, changes: Mapping[str, Any]) -> bool:
    return step.category is Category.BUDGET or _used_up(step, changes)


def _used_up(step: StepState, changes: Mapping[str, Any]) -> bool:
    """Whether a step failed with all the attempts that it had, and has more now."""
    decision = step.attempts[-1].decision if step.attempts else None
    counted = sum(counts(attempt.category) for attempt in step.attempts if attempt.category)
    is_spent = decision is not None and decision.rule == ATTEMPTS_SPENT
    return is_spent and changes.get("max_attempts", 0) > counted
