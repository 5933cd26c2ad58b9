"""The categories that rules give failing artifacts, against those that a reader gives them.

    python benches/gates/review.py --draw REPORT [REPORT…] [--count 30] [--seed N] [--without ID,ID]
    python benches/gates/review.py [--keep]

`--draw` takes artifacts that `run.py --json` kept of the configuration without gates, and holds
them against their gates; of those that fail it draws some, evenly over kinds, writes them to
`review.jsonl` and shows each with its prompt and what the gate said, but not the category. A reader
writes a category of their own under `hand`. Then, without `--draw`, it tells both apart; `--keep`
writes the rule's next to the reader's.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from prefect_swarm.errors import Category, InputError, SwarmError
from prefect_swarm.gates import (
    Gate,
    GateResult,
    Subject,
    build_pipeline,
    check,
    format_diagnostics,
    run_pipeline,
    select_gates,
)
from prefect_swarm.tasks.subagent.answer import abort_reason
from pydantic import BaseModel, ConfigDict
from steps import KINDS, Asked, Kind, load_steps
from tally import BenchReport

__all__ = ["REVIEW", "Reviewed", "agreement", "candidates", "judged", "load_review", "sample"]

REVIEW = Path(__file__).with_name("review.jsonl")
_WITHOUT_GATES = "single"


class Reviewed(BaseModel):
    """A failing artifact, and the categories it was given; `id` is its step's.

    Attributes:
        said: What the gate that stopped it said.
        hand: The reader's category, written before they knew the rule's.
        why: The reader's reason, where the two differ.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: Kind
    artifact: str
    gate_message: str
    hand: Category | None = None
    rule: Category | None = None
    why: str = ""


def candidates(reports: Iterable[BenchReport], without: Sequence[str] = ()) -> list[Reviewed]:
    """Return each artifact of the runs without gates once; what the gates say is not known yet."""
    found = {
        (outcome.id, outcome.artifact): Reviewed(
            id=outcome.id, kind=outcome.kind, artifact=outcome.artifact, gate_message=""
        )
        for report in reports
        for measured in report.measured
        if measured.configuration == _WITHOUT_GATES
        for outcome in measured.outcomes
        if outcome.artifact and outcome.id not in without
    }
    return list(found.values())


def sample(some: Sequence[Reviewed], count: int, seed: int) -> list[Reviewed]:
    """Draw evenly over kinds, as far as each has so many; in the kinds' order."""
    chance = random.Random(seed)
    of_kind = [[reviewed for reviewed in some if reviewed.kind == kind] for kind in KINDS]
    for each in of_kind:
        chance.shuffle(each)
    in_turn = [reviewed for reviewed in chain(*zip_longest(*of_kind)) if reviewed is not None]
    return sorted(in_turn[:count], key=lambda reviewed: KINDS.index(reviewed.kind))


def agreement(reviewed: Sequence[Reviewed]) -> str:
    """Return a line with the figure, and one for each disagreement."""
    apart = [review for review in reviewed if review.hand != review.rule]
    same = len(reviewed) - len(apart)
    share = f"{same / len(reviewed):.0%}" if reviewed else "nothing"
    lines = [f"{same} of {len(reviewed)} agree: {share}"]
    lines += [
        f"{review.id}: rule {review.rule}, hand {review.hand}. {review.why}" for review in apart
    ]
    return "\n".join(lines)


def load_review(path: Path = REVIEW) -> list[Reviewed]:
    """Read what was drawn."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Reviewed.model_validate_json(line) for line in lines]


def _write(reviewed: Sequence[Reviewed]) -> None:
    lines = [review.model_dump_json(exclude_defaults=True) for review in reviewed]
    REVIEW.write_text("\n".join(lines) + "\n", encoding="utf-8")


async def _stopped_by(asked: Asked, artifact: str) -> GateResult | None:
    async def run_gate(gate: Gate, subject: Subject, required: bool) -> GateResult:
        return await check(gate, subject, required=required)

    subject = Subject(artifact=artifact, output=asked.output, prompt=asked.prompt)
    return (
        await run_pipeline(build_pipeline(select_gates(asked.output)), subject, run_gate)
    ).stopped_by


async def _failing(some: Sequence[Reviewed], steps: dict[str, Asked]) -> list[Reviewed]:
    found: list[Reviewed] = []
    for review in some:
        if (stopper := await _stopped_by(steps[review.id], review.artifact)) is not None:
            message = f"gate {stopper.gate}: {format_diagnostics(stopper.diagnostics)}"
            found.append(review.model_copy(update={"gate_message": message}))
    return found


async def judged(some: Sequence[Reviewed], steps: Mapping[str, Asked]) -> list[Reviewed]:
    """Return the same with the categories that the rules give them now.

    Raises:
        SwarmError: The sandbox can't be held.
    """
    return [
        review.model_copy(update={"rule": await _rule(review, steps[review.id])}) for review in some
    ]


async def _rule(review: Reviewed, asked: Asked) -> Category | None:
    # A model that writes this is stopped before any gate sees it.
    if abort_reason(review.artifact, review.kind):
        return Category.EARLY_ABORT
    stopper = await _stopped_by(asked, review.artifact)
    return stopper.category if stopper else None


def _draw(args: argparse.Namespace, steps: dict[str, Asked]) -> None:
    reports = [BenchReport.model_validate_json(path.read_text("utf-8")) for path in args.draw]
    some = candidates(reports, args.without.split(","))
    chosen = sample(asyncio.run(_failing(some, steps)), args.count, args.seed)
    _write(chosen)
    for number, review in enumerate(chosen, 1):
        print(f"=== {number} · {review.id} · {review.kind}", steps[review.id].prompt, sep="\n")
        print("--- artifact", review.artifact, "--- gate", review.gate_message, sep="\n")


def _compare(*, keep: bool, steps: dict[str, Asked]) -> None:
    reviewed = load_review()
    if missing := [review.id for review in reviewed if review.hand is None]:
        raise InputError(f"{', '.join(missing)} have no category by hand.", "Write it as `hand`.")
    now = asyncio.run(judged(reviewed, steps))
    if keep:
        _write(now)
    print(agreement(now))


def _main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draw", type=Path, nargs="+", help="reports to draw artifacts from")
    parser.add_argument("--count", type=int, default=30, help="artifacts to draw")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--without", default="", help="ids of steps to leave out, with commas")
    parser.add_argument("--keep", action="store_true", help="write the rules' categories down")
    args = parser.parse_args()
    steps = {asked.id: asked for asked in load_steps()}
    if args.draw:
        _draw(args, steps)
    else:
        _compare(keep=args.keep, steps=steps)


if __name__ == "__main__":
    try:
        _main()
    except SwarmError as error:
        sys.exit(str(error))
