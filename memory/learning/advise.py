"""Advice on a plan's steps: the persona, the tier and the lessons of each. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...plan.compile import StepRecall
from ...plan.task_ir import Tier
from ..episode import LogEntry
from ..personas.model import Persona
from ..personas.registry import Registry, invent
from .beliefs import Beliefs
from .choice import MemoryCandidate, PromptSimilarity, choose_persona, choose_tier, recall, step_rng
from .evidence import Evidence, evidence_of
from .lesson import Injection, attribute_memories, duration_evidence, injection, lesson
from .reward import LearningConfig

__all__ = ["LESSONS_CHARS", "StepQuestion", "advise", "anticipate_agents"]


LESSONS_CHARS = 640
"""Characters of the lessons in a step's prompt, at most."""
_HARD = 0.5
"""Share of similar steps that succeeded in the end, below which something else is tried."""
_OFTEN = 2 / 3
"""Share of first attempts at similar steps that succeeded, below which lessons are shown."""


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """A step as it was planned.

    Attributes:
        task_type: Such as `code/python`.
        ladder: The tiers it may have, cheapest first; the first is the plan's.
        named: Whether a person wrote who does it: the memory then gives it to nobody else.
    """

    step: str
    prompt: str
    task_type: str
    agent: str
    system_prompt: str
    ladder: tuple[Tier, ...]
    named: bool = False


def advise(
    question: StepQuestion,
    similar: Sequence[tuple[LogEntry, float]],
    beliefs: Beliefs,
    registry: Registry,
    prompt_similarity: PromptSimilarity,
    *,
    run: str,
    seed: int = 0,
) -> StepRecall:
    """Choose for a step; the same memory, run and seed give the same choice.

    Args:
        similar: Attempts at similar steps and their similarity.
        registry: The result of `anticipate_agents` for the whole plan.
        prompt_similarity: Similarity of two episodes' prompts.
    """
    evidence = _by_persona(evidence_of(similar, beliefs.config), question, registry)
    candidates = _candidates(question, registry, frozenset(outcome.persona for outcome in evidence))
    expected = beliefs.expected_rate()
    rng = step_rng(run, question.step, seed)
    is_hard = _is_hard(evidence, beliefs.config)
    choice = choose_persona(
        [*candidates],
        evidence,
        expected,
        rng,
        tallies=beliefs.tallies(question.task_type),
        explore=is_hard,
        config=beliefs.config,
    )
    tier = choose_tier(question.ladder, evidence, expected, rng, config=beliefs.config)
    picked: Tier = next(rung for rung in question.ladder if rung == tier.picked)
    is_told = is_hard or _fails_at_first(evidence, beliefs.config)
    lessons = _choose_lessons(similar, beliefs, prompt_similarity) if is_told else Injection("", ())
    pace = beliefs.duration(question.task_type, choice.picked, picked)
    persona = candidates[choice.picked]
    return StepRecall(
        step=question.step,
        agent=persona.title if persona else question.agent,
        persona=choice.picked,
        tier=picked,
        by=choice.by,
        why=choice.why,
        tier_why=tier.why if tier.by != "rules" else "",
        instructions=persona.instructions if persona else "",
        expected_s=round(pace.seconds, 3) if pace else None,
        lesson=lessons.text,
        memories=attribute_memories(
            similar,
            {
                "persona": choice.evidence,
                "tier": tier.evidence if tier.by != "rules" else (),
                "lesson": lessons.used,
                "time": duration_evidence(
                    similar, question.task_type, choice.picked, picked, beliefs.config
                ),
            },
        ),
    )


def _candidates(
    question: StepQuestion, registry: Registry, tried: frozenset[str]
) -> dict[str, Persona | None]:
    """Return the personas that may do a step, by name; the planner's own agent comes first.

    Then the persona that its name means, those that did similar steps, and those for this kind of
    work alone: nearly all personas are for texts, and a persona without a similar step isn't tried.
    """
    found: dict[str, Persona | None] = {_own_name(question, registry): None}
    if question.named:
        return found
    meant = registry.match(question.agent, question.system_prompt, question.task_type)
    is_text = question.task_type.endswith("/text")
    for persona in registry.usable_personas(question.task_type):
        special = not is_text and not any(task.endswith("/*") for task in persona.task_types)
        if special or persona == meant or persona.name in tried:
            found.setdefault(persona.name, persona)
    return found


def _by_persona(
    evidence: Sequence[Evidence], question: StepQuestion, registry: Registry
) -> list[Evidence]:
    """Count the attempts of a planner's agents for the personas that their names mean.

    Not those of the agent that the step was planned for: they tell how it does with its own prompt.
    """
    own = _own_name(question, registry)
    names = {outcome.persona for outcome in evidence} - {own, *registry.known}
    meant = {name: registry.match(name, "", question.task_type) for name in sorted(names)}
    return [
        outcome._replace(persona=persona.name)
        if (persona := meant.get(outcome.persona))
        else outcome
        for outcome in evidence
    ]


def anticipate_agents(questions: Sequence[StepQuestion], registry: Registry) -> Registry:
    """Return the registry as if each agent of a plan had succeeded.

    So every step knows the name of its agent, even if it is new for several kinds of output.
    """
    for question in questions:
        entered = invent(
            registry, question.agent, question.system_prompt, question.task_type, at=0.0
        )
        registry = registry.with_invented(entered) if entered else registry
    return registry


def _own_name(question: StepQuestion, registry: Registry) -> str:
    """Return the name of the planner's own agent."""
    known = registry.find_invented(question.agent, question.system_prompt, question.task_type)
    return known.persona.name if known else question.agent


def _is_hard(evidence: Sequence[Evidence], config: LearningConfig) -> bool:
    """Whether steps of this kind mostly failed in the end: only then is anything else tried.

    Merely related steps don't count. Most work of a small model fails now and then, and giving up
    what sometimes works costs more than it teaches.
    """
    ended: dict[tuple[str, str], float] = {}
    for outcome in evidence:
        if outcome.similarity >= config.near:
            step = (outcome.key.run, outcome.key.step)
            ended[step] = max(outcome.success, ended.get(step, 0.0))
    return bool(ended) and sum(ended.values()) < _HARD * len(ended)


def _fails_at_first(evidence: Sequence[Evidence], config: LearningConfig) -> bool:
    """Whether first attempts at steps of this kind fail often enough for a lesson to pay.

    It takes a few per cent of what an attempt reads, and a failure costs a whole attempt more.
    """
    firsts = [
        outcome.success
        for outcome in evidence
        if outcome.similarity >= config.near and outcome.key.attempt == 1
    ]
    return len(firsts) >= config.min_samples and sum(firsts) < _OFTEN * len(firsts)


def _choose_lessons(
    similar: Sequence[tuple[LogEntry, float]], beliefs: Beliefs, prompt_similarity: PromptSimilarity
) -> Injection:
    """Return lessons if a similar step succeeded, unless such lessons haven't helped so far.

    Failures alone make a prompt longer and teach little.
    """
    candidates = [
        MemoryCandidate(entry, similarity, beliefs.q_of_memory(entry.episode.key))
        for entry, similarity in similar
        if similarity >= beliefs.config.near
    ]
    initial_q = beliefs.config.initial_q
    gains = [memory.q - initial_q for memory in candidates if memory.q != initial_q]
    any_succeeded = any(memory.entry.episode.succeeded for memory in candidates)
    if not any_succeeded or sum(gains) < 0:
        return Injection("", ())
    return injection(
        [lesson(memory) for memory in recall(candidates, prompt_similarity)], LESSONS_CHARS
    )
