"""Which steps of a plan read pictures, and whose models can't. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..errors import InputError, ModelError
from ..inputs.pictures import MAX_PICTURES, has_pictures, pictures_in
from ..models.names import Profile
from ..plan.compile import CompiledPlan, CompiledStep
from ..plan.items import names_matching
from ..plan.task_ir import Tier
from .options import SwarmOptions

__all__ = ["check_any_reader", "check_readers"]


_FIX = (
    "Name a model that is shown pictures (--worker, --coder, --architect, or --model for all), or "
    "leave the picture out. Where it does take them, say so in a swarm-model block."
)
_NAMED = 3
_TIERS: tuple[Tier, ...] = ("worker", "coder", "architect")


def check_any_reader(
    inputs: Mapping[str, str], options: SwarmOptions, profile_of: Callable[[str], Profile]
) -> None:
    """Check that a tier's model takes pictures, where there are any and no plan yet.

    Raises:
        ModelError: None of them does.
    """
    if not (names := _pictured(inputs.items())):
        return
    models = dict.fromkeys(map(options.model_of, _TIERS))
    if not any(profile_of(model).takes_pictures for model in models):
        raise ModelError(
            f"The run is given {_words(names)}, and none of its models takes pictures: "
            f"{', '.join(models)}.",
            _FIX,
        )


def check_readers(
    plan: CompiledPlan, options: SwarmOptions, profile_of: Callable[[str], Profile]
) -> None:
    """Check that the models of the steps that read pictures take them, and those of reviewers.

    A step that climbs to a model that doesn't fails there.

    Raises:
        InputError: A step reads more pictures than a request may have.
        ModelError: One doesn't; names the step and the input.
    """
    counts = {name: count for name, text in plan.inputs if (count := len(pictures_in(text)))}
    if not counts:
        return
    every = tuple(name for name, _ in plan.inputs)
    for step, names in _readers(plan.steps, every, every):
        read = [name for name in names if name in counts]
        if step.for_each is None and (count := sum(counts[name] for name in read)) > MAX_PICTURES:
            raise InputError(
                f"Step {step.id} reads {count:,} pictures, and a request may have {MAX_PICTURES}.",
                "Name fewer of its inputs, or have it done for each of them (for_each).",
            )
        for who, model in _models(step, options) if read else ():
            if not profile_of(model).takes_pictures:
                raise ModelError(
                    f"Step {step.id} reads {_words(read)}, and the model of {who}, {model}, takes "
                    "no pictures.",
                    _FIX,
                )


def _readers(
    steps: Iterable[CompiledStep], around: Sequence[str], every: Sequence[str]
) -> Iterator[tuple[CompiledStep, tuple[str, ...]]]:
    """Yield the steps that ask a model, at any depth, each with the names of what it reads."""
    for step in steps:
        items = step.for_each.items if step.for_each else None
        found = names_matching(items, every) if isinstance(items, str) else []
        if step.inputs is not None:
            own = step.inputs
        else:
            own = () if step.upstream or isinstance(items, str) else around
        names = tuple(dict.fromkeys((*found, *own)))
        if step.plan:
            yield from _readers(step.plan, names, every)
        elif not (step.collect or step.call):
            yield step, names


def _models(step: CompiledStep, options: SwarmOptions) -> Iterator[tuple[str, str]]:
    """Yield who reads what a step reads, and by which model."""
    own = options.named(step.model) if step.model else options.model_of(step.tier)
    yield ("the step" if step.model else f"tier {step.tier}"), own
    if step.review is not None:
        tier = step.review.reviewer.tier
        yield f"its reviewers, tier {tier}", options.model_of(tier)
    if step.best_of is not None and step.best_of.judge is not None:
        tier = step.best_of.judge.tier
        yield f"its judge, tier {tier}", options.model_of(tier)


def _pictured(inputs: Iterable[tuple[str, str]]) -> list[str]:
    return [name for name, text in inputs if has_pictures(text)]


def _words(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    noun = "the picture" if len(names) == 1 else "the pictures"
    return f"{noun} {', '.join(names[:_NAMED])}{more}"
