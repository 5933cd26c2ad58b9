"""`python -m prefect_swarm.parl.train`: train from files of pairs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ...blocks.llama.gguf import demo_model_path
from . import TrainConfig, train
from .progress import shown

app = typer.Typer(add_completion=False)


@app.command()
def main(
    data: Annotated[Path, typer.Option(help="JSONL with `objective` and `plan`.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    dev: Annotated[Path | None, typer.Option(help="JSONL that is only measured.")] = None,
    base: Annotated[Path | None, typer.Option(help="GGUF file; the demo model if none.")] = None,
    minutes: Annotated[float | None, typer.Option()] = None,
    steps: Annotated[int | None, typer.Option()] = None,
    rank: Annotated[int, typer.Option()] = TrainConfig.rank,
    lr: Annotated[float, typer.Option()] = TrainConfig.lr,
    tokens: Annotated[int, typer.Option(help="Tokens of a step.")] = TrainConfig.batch_tokens,
    evaluate: Annotated[int, typer.Option(help="Steps.")] = TrainConfig.eval_every,
    patience: Annotated[int | None, typer.Option()] = None,
    seed: Annotated[int, typer.Option()] = TrainConfig.seed,
    resume: Annotated[bool, typer.Option("--resume")] = False,
) -> None:
    """Train an adapter of the orchestrator."""
    config = TrainConfig(
        rank=rank,
        alpha=2.0 * rank,
        lr=lr,
        steps=steps,
        minutes=minutes,
        batch_tokens=tokens,
        eval_every=evaluate,
        patience=patience,
        seed=seed,
    )
    path = base or demo_model_path()
    with shown(config) as show:
        result = train(
            _pairs(data),
            _pairs(dev) if dev else (),
            config,
            out,
            base=path,
            resume=resume,
            show=show,
        )
    typer.echo(f"Ended: {result.stopped}. Best: {result.best}")


def _pairs(path: Path) -> list[tuple[str, str]]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return [(row["objective"], row["plan"]) for row in rows]


if __name__ == "__main__":
    app()
