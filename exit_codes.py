"""What a command leaves with. docs/reference/commands.md has the same table."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode", "exit_code_of_status"]


class ExitCode(IntEnum):
    """A command's exit code, and in `meaning` when it is that."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        """Make a code with its meaning."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    COMPLETED = 0, "completed: what was asked for was done"
    FAILED = 1, "failed: a run, a check, a service that doesn't answer, or an error of the program"
    USAGE = 2, "wrong usage or settings: an argument, a file, a folder, a model's name or its key"
    PARTIAL = 3, "partly completed: steps or lines failed, and others have their results"
    WAITING = 4, "waiting: a person has to approve or reject something before the run goes on"
    CANCELLED = 130, "cancelled by Ctrl-C"
    TERMINATED = 143, "cancelled by SIGTERM"


def exit_code_of_status(status: str) -> ExitCode:
    """Return what the status of a run's or a batch line's result ends a command with."""
    match status:
        case "completed":
            return ExitCode.COMPLETED
        case "partial":
            return ExitCode.PARTIAL
        case "waiting":
            return ExitCode.WAITING
        case _:
            return ExitCode.FAILED
