"""Showing a training run: a moving bar on a terminal, a line for each report elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .config import TrainConfig, TrainingReport

__all__ = ["line", "progress_printer"]


@contextmanager
def progress_printer(
    config: TrainConfig, console: Console | None = None
) -> Generator[Callable[[TrainingReport], None]]:
    """Give the function that shows each report."""
    console = console or Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        yield lambda report: console.print(line(report), soft_wrap=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("Reading the base model", total=1.0)

        def show(report: TrainingReport) -> None:
            if report.dev_loss is not None:
                console.print(line(report), soft_wrap=True)
            bar.update(task, description=line(report), completed=_share(config, report))

        yield show


def line(report: TrainingReport) -> str:
    """Say a report in one line."""
    dev = "" if report.dev_loss is None else f"  dev {report.dev_loss:.4f}"
    return (
        f"step {report.step:>5}  loss {report.loss:.4f}{dev}  lr {report.lr:.1e}  "
        f"{report.tokens_s:4.0f} tokens/s  {report.elapsed_s / 60:.1f} min"
    )


def _share(config: TrainConfig, report: TrainingReport) -> float:
    by_steps = report.step / config.steps if config.steps else 0.0
    by_time = report.elapsed_s / (config.minutes * 60) if config.minutes else 0.0
    return min(1.0, max(by_steps, by_time))
