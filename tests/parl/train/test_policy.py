"""A model learns from runs of its own plans, by what they come to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from prefect_swarm.errors import InputError
from prefect_swarm.parl.rollout import UNREAD, Rollout
from prefect_swarm.parl.train import PolicySettings, TrainConfig, TrainingReport, TrainResult
from prefect_swarm.parl.train.base import Base, load_base
from prefect_swarm.parl.train.batches import TokenizedExample, pack
from prefect_swarm.parl.train.checkpoints import TrainingProgress, load_adapter
from prefect_swarm.parl.train.learner import new_learner
from prefect_swarm.parl.train.loop import TrainingRun
from prefect_swarm.parl.train.model import Writer
from prefect_swarm.parl.train.objective import PolicyTarget
from prefect_swarm.parl.train.policy import PolicyCourse, PolicyPrompt, PolicyTask

CONFIG = TrainConfig(
    rank=2, alpha=4.0, steps=8, lr=0.01, eval_every=4, save_every=2, threads=1, precision="float32"
)
POLICY = PolicySettings(objectives=4, plans=6, updates=2)


@pytest.fixture(scope="module")
def base(tiny: Path) -> Base:
    return load_base(tiny)


@pytest.fixture(scope="module")
def end(base: Base) -> int:
    """A token the model comes to now and then."""
    learner = new_learner(base, CONFIG)
    writer = Writer(learner.model, learner.adapter)
    ((*plans,),) = writer.write([(5, 6, 7)], [16], 60, -1, torch.Generator().manual_seed(1))
    return Counter(token for plan in plans for token in plan[1:]).most_common(1)[0][0]


def even(text: str) -> Rollout:
    """A plan that begins with an even token is worth all, and runs side by side."""
    if text.startswith("o"):
        return Rollout(0.2, r_parallel=0.0, r_finish=1.0, critical_steps=9, width=1, steps=2)
    return Rollout(1.0, r_parallel=0.5, r_finish=0.5, critical_steps=5, width=4, steps=4)


Course = Callable[..., PolicyCourse]


@pytest.fixture
def course(base: Base, end: int, tmp_path: Path) -> Course:
    def course(
        run: Callable[[str], Rollout] = even, config: TrainConfig = CONFIG, **changed: Any
    ) -> PolicyCourse:
        prompt = PolicyPrompt("Write a poem", "1. Poet: Write a poem", run, "poems")
        tasks = [
            PolicyTask(prompt, TokenizedExample((5, 6, n, n + 1), (8, end))) for n in range(10, 18)
        ]
        pieces = [b"" if token == end else b"eo"[token % 2 :][:1] for token in range(300)]
        policy, folder = replace(POLICY, **changed), tmp_path / "log"
        folder.mkdir(exist_ok=True)
        return PolicyCourse(tasks, tasks, config, policy, new_learner(base, config), pieces, folder)

    return course


Run = Callable[..., TrainResult]


@pytest.fixture
def run(base: Base, course: Course, tmp_path: Path) -> Run:
    def run(
        folder: str = "run",
        *,
        resume: bool = False,
        show: Callable[[TrainingReport], None] = lambda _: None,
        policy: dict[str, Any] | None = None,
        **changed: Any,
    ) -> TrainResult:
        config = replace(CONFIG, **changed)
        learning = course(config=config, **(policy or {}))
        run = TrainingRun(learning, learning.learner, config, tmp_path / folder, base, show)
        return run.train(resume=resume)

    return run


@pytest.fixture
def log(tmp_path: Path) -> Callable[[], list[dict[str, float]]]:
    def log() -> list[dict[str, float]]:
        lines = (tmp_path / "log" / "policy.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    return log


Log = Callable[[], list[dict[str, float]]]


def matrices(result: TrainResult) -> list[torch.Tensor]:
    return load_adapter(result.checkpoints[-1])[0].parameters()


def test_what_its_better_runs_did_becomes_likelier(run: Run) -> None:
    losses = run(steps=120, eval_every=20, lr_ratio=2.0).dev_losses
    assert losses[120] < 0.6 * losses[20]


def test_the_log_has_each_term_of_each_step(run: Run, log: Log) -> None:
    run(policy={"parallel": 0.2, "finish": 0.1, "annealed": 0.5})
    lines = log()
    assert [line["step"] for line in lines] == [*range(1, 9)]
    assert [line["weight_parallel"] for line in lines] == pytest.approx(
        [0.2, 0.15, 0.1, 0.05, 0, 0, 0, 0]
    )
    for line in lines:
        assert line["reward"] == pytest.approx(
            line["weight_parallel"] * line["r_parallel"]
            + line["weight_finish"] * line["r_finish"]
            + line["r_perf"]
        )
        assert 0 <= line["clipped"] <= 1
        assert line["kl"] >= 0
        assert line["poems.r_perf"] == line["r_perf"]
        assert {"critical_steps", "width", "steps", "read", "plan_tokens"} <= line.keys()


def test_the_first_step_of_a_round_has_moved_nowhere_yet(run: Run, log: Log) -> None:
    run()
    moved = [abs(line["log_ratio"]) for line in log()]
    # Merged weights and those with the adapter beside them differ by rounding alone.
    assert max(moved[0::2]) < 1e-4 < max(moved[1::2])


def test_a_run_that_was_broken_off_ends_as_if_it_had_not_been(run: Run, log: Log) -> None:
    def break_off(report: TrainingReport) -> None:
        if report.step == 4:
            raise KeyboardInterrupt

    whole = matrices(run("whole"))
    told = log()
    with pytest.raises(KeyboardInterrupt):
        run("broken", show=break_off)
    resumed = matrices(run("broken", resume=True))
    assert all(torch.equal(*pair) for pair in zip(whole, resumed, strict=True))
    assert log()[-8:] == told


def test_lines_of_steps_that_are_done_again_are_dropped(
    course: Course, log: Log, tmp_path: Path
) -> None:
    lines = "".join(json.dumps({"step": step}) + "\n" for step in range(1, 8))
    learning = course()
    (tmp_path / "log" / "policy.jsonl").write_text(lines, "utf-8")
    learning.lesson(TrainingProgress(step=4))
    assert [line["step"] for line in log()] == [1, 2, 3, 4]


def test_every_token_is_taught_by_what_its_plan_is_better_than_the_mean(course: Course) -> None:
    lesson = course().lesson(TrainingProgress())
    assert lesson.parts
    for batch, target in lesson.parts:
        assert isinstance(target, PolicyTarget)
        assert len(target.advantages) == len(target.old) == len(batch.targets)
        assert target.advantages.max() > 0 > target.advantages.min()


def unread(_: str) -> Rollout:
    return UNREAD


def test_an_objective_whose_plans_are_worth_the_same_teaches_nothing(course: Course) -> None:
    assert not course(run=unread).lesson(TrainingProgress()).parts


def test_a_plan_that_came_to_no_end_is_not_run(course: Course) -> None:
    ran: list[str] = []

    def note(text: str) -> Rollout:
        ran.append(text)
        return Rollout(1.0)

    learning = course(run=note)
    learning.lesson(TrainingProgress())
    assert 0 < len(ran) < POLICY.objectives * POLICY.plans


def test_without_auxiliary_weights_only_the_outcome_counts(run: Run, log: Log) -> None:
    run(policy={"parallel": 0.0, "finish": 0.0, "annealed": None})
    assert all(line["reward"] == pytest.approx(line["r_perf"]) for line in log())


def test_the_log_counts_what_is_no_plan(course: Course, log: Log) -> None:
    learning = course(run=unread)
    learning.lesson(TrainingProgress()).learnt(1)
    assert log()[0]["read"] == 0


def test_a_sampled_plan_has_the_log_probabilities_that_learning_computes(base: Base) -> None:
    learner = new_learner(base, CONFIG)
    writer = Writer(learner.model, learner.adapter)
    prompt = (5, 6, 7, 8)
    (plans,) = writer.sample([prompt], [6], 5, -1, torch.Generator().manual_seed(3))
    for plan in plans:
        batch = pack([TokenizedExample(prompt, plan.tokens)])
        with torch.no_grad():
            found = learner.model.log_probabilities(batch, learner.adapter)
        torch.testing.assert_close(
            found, torch.tensor(plan.log_probabilities), atol=1e-4, rtol=1e-4
        )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"objectives": 0}, "objectives is 0"),
        ({"plans": 1}, "plans is 1"),
        ({"parallel": -0.1}, "parallel is -0.1"),
        ({"annealed": 0.0}, "annealed is 0"),
        ({"low": 0.1}, "low is 0.1"),
        ({"high": -0.1}, "high is -0.1"),
        ({"updates": 5}, "4 objectives give no 5 updates"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        replace(POLICY, **changed)
