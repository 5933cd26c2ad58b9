"""What a person may set for a run; the form of the deployment in the Prefect UI."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pydantic import Field, PositiveInt

from ..errors import ModelError
from ..failure_policy import Policy
from ..frozen import Frozen
from ..task_ir import MAX_STEPS, TIERS, OutputKind, TaskType, Tier, TierName
from ..tasks.subagent.request import CallLimits

__all__ = ["SwarmOptions"]


class SwarmOptions(Frozen):
    """Models and budgets of a run. A tier without a model of its own takes `model`."""

    model: str = Field(
        default="demo",
        min_length=1,
        description="Model for every tier: demo, llamacpp:PATH, block:SLUG/NAME or PROVIDER:NAME.",
    )
    worker: str | None = Field(default=None, description="Model of the cheapest tier.")
    coder: str | None = Field(default=None, description="Model of the middle tier.")
    architect: str | None = Field(default=None, description="Model of the most expensive tier.")
    orchestrator: str | None = Field(
        default=None, description="Model that plans and joins the answer."
    )
    adapter: bool = Field(
        default=True,
        description="Whether a local orchestrator plans with the adapter that was trained for it.",
    )
    max_steps: int = Field(
        default=MAX_STEPS, ge=1, le=MAX_STEPS, description="Steps a plan may have."
    )
    max_concurrency: int = Field(default=8, ge=1, description="Attempts that may run at once.")
    tier_concurrency: dict[Tier, PositiveInt] = Field(
        default_factory=dict[Tier, PositiveInt],
        description="Attempts that may run at once on a tier.",
    )
    max_tokens: int | None = Field(
        default=None, ge=1, description="Tokens the run may read and write."
    )
    max_output_tokens: int = Field(default=256, ge=1, description="Tokens a call may write.")
    timeout_s: float | None = Field(default=None, gt=0, description="Seconds the run may take.")
    step_timeout_s: float = Field(default=300.0, gt=0, description="Seconds an attempt may take.")
    max_attempts: int = Field(default=9, ge=1, description="Attempts a step may take.")
    gates: dict[OutputKind, tuple[str, ...]] = Field(
        default_factory=dict[OutputKind, tuple[str, ...]],
        description="Gates by output kind: names replace the kind's own, +name and -name change "
        "them, name? is tried and stops nothing.",
    )
    gate_concurrency: int = Field(default=2, ge=1, description="Light gates that may run at once.")
    policy_block: str | None = Field(
        default=None, description="Name of a failure-policy block that takes the policy's place."
    )
    policy: Policy = Field(
        default_factory=Policy,
        description="What failures lead to: a table, docs/failures.md says how it is written.",
    )
    max_input_chars: int = Field(
        default=4000, ge=1, description="Characters of upstream output a step may read."
    )
    temperature: float | None = Field(
        default=None, ge=0, description="Sampling temperature; the model's own where empty."
    )
    memory: bool = Field(
        default=True, description="Whether the run remembers, and goes by what is remembered."
    )
    namespace: str = Field(
        default="default",
        min_length=1,
        max_length=80,
        description="Whose memory it is; what is in one is never read in another.",
    )
    embedder: str = Field(
        default="wordllama",
        min_length=1,
        description="What finds similar steps: wordllama, llamacpp:PATH or PROVIDER:MODEL.",
    )
    seed: int = Field(default=0, ge=0, description="Seed of local sampling.")

    def model_of(self, tier: TierName) -> str:
        """Return the name of a tier's model."""
        own: str | None = getattr(self, tier)
        return own or self.model

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

    def call_limits(self) -> CallLimits:
        """Return what bounds every call of a run."""
        return CallLimits(
            max_input_chars=self.max_input_chars,
            max_output_tokens=self.max_output_tokens,
            temperature=self.temperature,
            seed=self.seed,
            timeout_s=self.step_timeout_s,
        )


def _served(name: str) -> str:
    """Return what models of several names have in common that are one: a local one's file."""
    kind, _, path = name.partition(":")
    if name == "demo":
        # The command line reads options before it needs Prefect, which blocks import.
        from ..blocks.llama.gguf import demo_model_path

        with suppress(ModelError):
            return str(demo_model_path().resolve())
    if kind == "llamacpp" and path:
        return str(Path(path).resolve())
    return name
