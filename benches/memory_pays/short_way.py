"""The same uses by the product's own decisions and memory, without Prefect's flow and task runs.

The planner's request, recall, compilation, gate, failure router, episodes and what is learned after
a run are the product's. What is left out is what carries them out: the flow. It is many times as
quick, so many worlds can be played, and comes to what the whole product comes to.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from prefect_swarm.flows import memory as run_memory
from prefect_swarm.flows.options import SwarmOptions
from prefect_swarm.gates import Subject, gates
from prefect_swarm.gates.base import GateResult, format_diagnostics
from prefect_swarm.memory.episode import EpisodeKey
from prefect_swarm.memory.graph_rows import symptom_text
from prefect_swarm.memory.learning.after_run import InventedAgent, after_run
from prefect_swarm.memory.store import Store
from prefect_swarm.models.names import Price
from prefect_swarm.models.resolve import price_of
from prefect_swarm.plan.compile import CompiledPlan, CompiledStep, compile_plan
from prefect_swarm.plan.task_ir import TIERS, TaskIR, Tier, parse_plan
from prefect_swarm.store.attempt import Attempt, Usage
from prefect_swarm.store.result import Mitigation, Recall
from prefect_swarm.tasks import memory as recalling
from prefect_swarm.tasks.failure_router import Bounds, Failure, feedback, route
from prefect_swarm.tasks.memory import AttemptContext, episode_of, recall_request, task_type_of
from prefect_swarm.tasks.planner.conversation import PlanContext
from prefect_swarm.tasks.planner.facts import PlanningFacts, gate_facts, tier_facts
from prefect_swarm.tasks.planner.facts_text import facts_text
from prefect_swarm.tasks.planner.planners import StructuredPlanner
from prefect_swarm.text import tokens_of
from wide_search.virtual_time import run_at_once

from .house import House
from .player import Answer, Player

__all__ = ["ShortWay"]

_NAMESPACE = "default"
_FEEDBACK_CHARS = 4000


@dataclass(slots=True)
class _Step:
    """How far a step is: its attempts, their failures, and what the last one made."""

    step: CompiledStep
    tier: Tier
    text: str = ""
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    failures: list[Failure] = field(default_factory=list[Failure])
    is_over: bool = False
    succeeded: bool = False


@dataclass(slots=True)
class ShortWay:
    """Plays uses.

    Attributes:
        store: The memory; None to do without.
        now: Virtual seconds since the Unix epoch.
    """

    player: Player
    house: House
    options: SwarmOptions
    store: Store | None
    slots: int
    now: float = 1_800_000_000.0
    _number: Any = field(default_factory=lambda: count(1))
    _head: int | None = None
    _prices: dict[str, Price | None] = field(default_factory=dict[str, "Price | None"])

    def __post_init__(self) -> None:
        models = self.player.models()
        self._prices = {tier: price_of(model) for tier, model in models.items()}

    def use(self) -> dict[str, Any]:
        """Play the use that the player has been given; return its figures."""
        run = f"{next(self._number):032x}"
        plan, usd, plans = self._planned(run)
        recall = self._recalled(plan, run)
        compiled = compile_plan(plan, recall=recall.steps)
        began = self.now
        steps = self._worked(compiled, plan, run, recall.mitigations)
        if self.store is not None:
            prompts = {agent.name: agent.system_prompt for agent in plan.agents}
            invented = [
                InventedAgent(
                    each.step.agent,
                    prompts[each.step.agent],
                    task_type_of(plan.task_type, each.step.output.kind),
                    each.step.persona,
                )
                for each in steps
                if each.succeeded and each.step.agent in prompts
            ]
            after_run(self.store, _NAMESPACE, run, invented)
        attempts = [attempt for each in steps for attempt in each.attempts]
        decisions = [attempt.decision for attempt in attempts if attempt.decision]
        return {
            "status": "completed" if all(each.succeeded for each in steps) else "failed",
            "attempts": len(attempts),
            "usd": usd + sum(attempt.usage.cost_usd or 0.0 for attempt in attempts),
            "makespan_s": self.now - began,
            "plan": plan,
            "attempt_tiers": [attempt.tier for attempt in attempts],
            "recall": recall,
            "decisions": decisions,
            "plans": plans,
        }

    def _planned(self, run: str) -> tuple[TaskIR, float, int]:
        """Have a plan made as the orchestrator does, with what it is shown."""
        objective = self.player.asked.objective
        prices = {self.options.model_of(tier): self._prices[tier] for tier in TIERS}
        facts = PlanningFacts(
            tiers=tier_facts(self.options.model_of, prices.get),
            gates=gate_facts(gates().values()),
        )
        if self.store is not None:
            facts = run_memory._with_memory(  # pyright: ignore[reportPrivateUsage]
                facts, self.store, self.options, objective, run
            )
        shown = facts_text(facts)
        read = tokens_of(objective + shown.text)
        if self._head is None:
            # The product's planner asks once: what its request has besides is always the same.
            planner = StructuredPlanner(self.player.models()["orchestrator"])
            made = asyncio.run(planner.plan(objective, PlanContext(facts=shown.text)))
            self._head = made.usage.input_tokens - read
        steps, written = self.player.plan(f"{objective}\n{shown.text}")
        price = self._prices["orchestrator"]
        assert price is not None
        plan = parse_plan({"objective": objective, **steps})
        return plan, price.of(self._head + read, written), len(shown.runs)

    def _recalled(self, plan: TaskIR, run: str) -> Recall:
        if self.store is None:
            return Recall()

        def ladder(tier: Tier) -> tuple[Tier, ...]:
            return self.options.ladder(plan.escalation.max_tier, plan.task_type, tier)

        request = recall_request(
            plan,
            ladder,
            run=run,
            place=self.store.place.key,
            namespace=_NAMESPACE,
            seed=self.options.seed or 0,
        )
        return recalling._ask(request)  # pyright: ignore[reportPrivateUsage]

    def _worked(
        self, compiled: CompiledPlan, plan: TaskIR, run: str, known: Sequence[Mitigation]
    ) -> list[_Step]:
        """Do the steps, those with the longest expected path to the end first."""
        steps = {step.id: _Step(step, step.tier) for step in compiled.steps}
        running: list[tuple[float, str, float, list[Answer]]] = []
        while True:
            busy = {name for _, name, _, _ in running}
            ready = [
                each
                for name, each in steps.items()
                if not each.is_over
                and name not in busy
                and all(steps[needed].succeeded for needed in each.step.upstream)
            ]
            ready.sort(key=lambda each: -each.step.priority)
            for each in ready[: self.slots - len(running)]:
                answers = self._ended(each.step, self._answers(each, steps))
                end = self.now + answers[-1].seconds
                heapq.heappush(running, (end, each.step.id, self.now, answers))
            if not running:
                return [*steps.values()]
            end, name, began, answers = heapq.heappop(running)
            self.now = end
            self._conclude(steps[name], compiled, plan, run, began, answers, known)

    def _ended(self, step: CompiledStep, answers: list[Answer]) -> list[Answer]:
        """Return the samples that end before the rest is cancelled, the quickest first."""
        answers.sort(key=lambda answer: answer.seconds)
        for number, answer in enumerate(answers, 1):
            if self._checked(step, answer.text).status == "passed":
                return answers[:number]
        return answers

    def _answers(self, each: _Step, steps: Mapping[str, _Step]) -> list[Answer]:
        decision = each.attempts[-1].decision if each.attempts else None
        read = (steps[name] for name in each.step.upstream)
        parts = [f"Result of {other.step.id} ({other.step.agent}):\n{other.text}" for other in read]
        parts += [each.step.prompt, each.step.lesson]
        if decision and decision.action == "ESCALATE":
            parts.append(f"This was tried before:\n{each.text}")
        if decision and decision.action != "SAMPLE":
            parts.append(feedback(each.failures, _FEEDBACK_CHARS))
            parts.append(decision.example.text if decision.example else "")
        shown = "\n\n".join(filter(None, parts))
        samples = decision.samples if decision else 1
        return [
            self.player.answer(each.tier, each.step.instructions, shown) for _ in range(samples)
        ]

    def _conclude(
        self,
        each: _Step,
        compiled: CompiledPlan,
        plan: TaskIR,
        run: str,
        began: float,
        answers: Sequence[Answer],
        known: Sequence[Mitigation],
    ) -> None:
        """Hold answers against the gate, route a failure, and remember the attempt."""
        price = self._prices[each.tier]
        assert price is not None
        held = [(answer, self._checked(each.step, answer.text)) for answer in answers]
        held.sort(key=lambda pair: pair[1].status != "passed")
        answer, found = held[0]
        usages = (
            Usage(
                requests=1,
                input_tokens=one.read,
                output_tokens=one.written,
                cost_usd=price.of(one.read, one.written),
            )
            for one in answers
        )
        failed = found.status != "passed"
        attempt = Attempt(
            number=len(each.attempts) + 1,
            agent=each.step.agent,
            samples=len(answers),
            tier=each.tier,
            model=self.options.model_of(each.tier),
            started_at=began,
            ended_at=self.now,
            usage=sum(usages, Usage()),
            category=found.category if failed else None,
            error=f"gate {found.gate}: {format_diagnostics(found.diagnostics)}" if failed else None,
            gates=(found,),
        )
        context = self._context(each.step, compiled, run)
        before = [*each.attempts]
        if failed:
            symptom = symptom_text(episode_of(context, attempt, before, "")) if known else ""
            assert attempt.category is not None
            led = before[-1].decision.action if before and before[-1].decision else None
            failure = Failure(attempt.category, each.tier, attempt.error or "", led)
            policy = self.options.policy
            bounds = Bounds(
                max_attempts=each.step.max_attempts,
                ladder=self.options.ladder(each.step.max_tier, plan.task_type, each.step.tier),
                can_keep=True,
                known=tuple(known),
            )
            last = Failure(attempt.category, each.tier, failure.message, led, symptom=symptom)
            decision = route([*each.failures, last], policy, bounds)
            each.failures.append(failure)
            attempt = attempt.model_copy(update={"decision": decision})
            each.is_over = decision.tier is None
            each.tier = decision.tier or each.tier
        else:
            each.is_over = each.succeeded = True
        each.attempts.append(attempt)
        each.text = answer.text
        if self.store is not None:
            example = before[-1].decision.example if before and before[-1].decision else None
            shown = (EpisodeKey(example.run, example.step, example.attempt),) if example else ()
            context = self._context(each.step, compiled, run, shown)
            self.store.remember(episode_of(context, attempt, before, answer.text))

    def _checked(self, step: CompiledStep, text: str) -> GateResult:
        subject = Subject(artifact=text, output=step.output, prompt=step.prompt)
        found = run_at_once(self.house.check(subject))
        return GateResult(gate=self.house.name, **found.model_dump())

    def _context(
        self,
        step: CompiledStep,
        compiled: CompiledPlan,
        run: str,
        shown: Sequence[EpisodeKey] = (),
    ) -> AttemptContext:
        used = (EpisodeKey(*key) for key in step.used)
        return AttemptContext(
            namespace=_NAMESPACE,
            run=run,
            step=step.id,
            objective=compiled.objective,
            task_type=compiled.task_type,
            output=step.output.kind,
            prompt=step.prompt,
            persona=step.persona or step.agent,
            upstream=step.upstream,
            downstream=tuple(other.id for other in compiled.steps if step.id in other.upstream),
            used=tuple(dict.fromkeys((*used, *shown))),
        )
