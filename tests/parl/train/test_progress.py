"""Progress lines of a training run."""

from __future__ import annotations

import io

from prefect_swarm.parl.train import TrainConfig, TrainingReport
from prefect_swarm.parl.train.loop import progress_printer
from rich.console import Console

PLAIN = TrainingReport(10, 1.25, None, 5e-4, 200.0, 90.0)
MEASURED = TrainingReport(20, 0.5, 0.625, 4e-4, 210.0, 180.0)


def seen(*, terminal: bool) -> str:
    console = Console(
        file=(file := io.StringIO()),
        force_terminal=terminal,
        width=120,
        highlight=False,
        _environ={"TERM": "xterm"},
    )
    with progress_printer(TrainConfig(minutes=30), console) as show:
        show(PLAIN)
        show(MEASURED)
    return file.getvalue()


def test_a_pipe_gets_a_line_for_each_report() -> None:
    first, second = seen(terminal=False).splitlines()
    assert " ".join(first.split()) == "step 10 loss 1.2500 lr 5.0e-04 200 tokens/s 1.5 min"
    assert "dev 0.6250" in second


def test_a_terminal_gets_a_bar() -> None:
    text = seen(terminal=True)
    assert "dev 0.6250" in text
    assert "━" in text
