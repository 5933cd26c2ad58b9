"""Exceptions of the package, except `RunFailedError`, and all exit codes.

Each says what was wrong, with which value and where, and `fix` says what to do about it. `category`
is what the failure router reads; `exit_code` is what the command line returns.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import ClassVar

__all__ = [
    "AnsweredError",
    "ApprovalNeededError",
    "BudgetExceededError",
    "Category",
    "ClusterError",
    "ContextTooSmallError",
    "EarlyAbortError",
    "EmptyOutputError",
    "ExitCode",
    "ForgettingUnfinishedError",
    "GateError",
    "InputError",
    "ItemsError",
    "MemoryStoreError",
    "ModelError",
    "ModelFailedError",
    "NoPlanError",
    "PatchConflictError",
    "PlanError",
    "RefusedError",
    "RunAliveError",
    "RunCancelledError",
    "RunDamagedError",
    "RunLostError",
    "RunNotFoundError",
    "RunTakenError",
    "RunTerminatedError",
    "SandboxError",
    "ServerError",
    "StepTimeoutError",
    "StepWaivedError",
    "StorageError",
    "SwarmError",
    "ToolsetError",
    "TruncatedError",
    "UnavailableError",
    "UncertainCallError",
    "UnmadeCallError",
    "UnusableReplacementError",
    "WorkspaceError",
    "WorseAdapterError",
    "exit_code_of_status",
]


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


def exit_code_of_status(status: str, *, is_whole: bool = True) -> ExitCode:
    """Return what the status of a run's or a batch line's result ends a command with.

    Args:
        status: How it ended.
        is_whole: Whether nothing that was asked for is missing from a completed one.
    """
    match status:
        case "completed":
            return ExitCode.COMPLETED if is_whole else ExitCode.PARTIAL
        case "partial":
            return ExitCode.PARTIAL
        case "waiting":
            return ExitCode.WAITING
        case _:
            return ExitCode.FAILED


class Category(StrEnum):
    """What kind of failure it was; the failure router's only input about a cause."""

    CODE = "CODE"
    LOGIC = "LOGIC"
    TIMEOUT = "TIMEOUT"
    SCHEMA = "SCHEMA"
    FORMAT = "FORMAT"
    EARLY_ABORT = "EARLY_ABORT"
    TRUNCATED = "TRUNCATED"
    REFUSED = "REFUSED"
    UNAVAILABLE = "UNAVAILABLE"
    CONFLICT = "CONFLICT"
    INFRASTRUCTURE = "INFRASTRUCTURE"
    BUDGET = "BUDGET"
    UPSTREAM = "UPSTREAM"
    UNKNOWN = "UNKNOWN"


_ENDS = (*".!?…:;。！？", "")


class SwarmError(Exception):
    """Base of every deliberate error: a sentence on what was wrong and one on what to do."""

    category: ClassVar[Category] = Category.UNKNOWN
    exit_code: ClassVar[ExitCode] = ExitCode.FAILED

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem, fix)
        self.problem = problem
        self.fix = fix

    @property
    def advice(self) -> str:
        """What to do, unless the problem says it: an error may have been made of another's text."""
        return "" if self.fix.rstrip(".") in self.problem else self.fix

    def __str__(self) -> str:
        advice = self.advice
        # A provider's own words may stand at the end, without a full stop.
        is_open = advice and self.problem and self.problem.rstrip()[-1:] not in _ENDS
        return f"{self.problem}{'.' if is_open else ''} {advice}".rstrip()


class InputError(SwarmError):
    """The user asked for something that can't be understood or found."""

    exit_code = ExitCode.USAGE


class PlanError(InputError):
    """A plan breaks a rule of the plan language; `text` is what it was read from."""

    category = Category.SCHEMA

    def __init__(self, problem: str, fix: str = "", text: str = "") -> None:
        super().__init__(problem, fix)
        self.args = (problem, fix, text)
        self.text = text


class NoPlanError(PlanError):
    """The orchestrator wrote no plan that can be read; `text` is what it wrote last."""

    exit_code = ExitCode.FAILED


class UnusableReplacementError(NoPlanError):
    """The orchestrator answered, but with nothing that can take a failed step's place."""


class RunNotFoundError(InputError):
    """No stored run answers to that name."""


class RunDamagedError(InputError):
    """A file of a stored run can't be read as what it is."""


class RunLostError(InputError):
    """A run that has begun has no folder here: what it had done and decided is elsewhere."""


class RunAliveError(SwarmError):
    """A process is executing the run already; a second one would do its steps twice."""


class RunTakenError(RunAliveError):
    """Another process took the run over from this one, which may write nothing of it any more."""


class ModelError(SwarmError):
    """A model is not available as named: its file, key, package or block is missing or wrong."""

    category = Category.INFRASTRUCTURE
    exit_code = ExitCode.USAGE


class ModelFailedError(ModelError):
    """A model that could be had failed while it computed."""

    exit_code = ExitCode.FAILED


class ToolsetError(SwarmError):
    """A toolset is not available: its server, file, package or block is missing or wrong."""

    category = Category.INFRASTRUCTURE
    exit_code = ExitCode.USAGE


class UncertainCallError(SwarmError):
    """A call of a tool was begun and nothing says whether it was made; nobody may make it twice."""

    category = Category.INFRASTRUCTURE


class CallError(SwarmError):
    """A call that a plan makes itself failed, or can't be made."""

    category = Category.LOGIC


class MemoryStoreError(SwarmError):
    """The memory can't be opened, read or written; what ran is not affected."""

    category = Category.INFRASTRUCTURE


class ForgettingUnfinishedError(MemoryStoreError):
    """What was forgotten is found no more, and its bytes are still in `files`."""

    def __init__(self, problem: str, fix: str = "", files: tuple[str, ...] = ()) -> None:
        super().__init__(problem, fix)
        self.args = (problem, fix, files)
        self.files = files


class WorseAdapterError(SwarmError):
    """A newly trained adapter plans worse than what it was to replace."""


class ContextTooSmallError(ModelError):
    """A prompt does not fit into the model's context window; another try would not either."""

    category = Category.BUDGET
    exit_code = ExitCode.FAILED


class EarlyAbortError(SwarmError):
    """What a model was writing was certain to fail, so it was stopped; `saved` counts tokens."""

    category = Category.EARLY_ABORT

    def __init__(self, problem: str, fix: str = "", saved: int = 0) -> None:
        super().__init__(problem, fix)
        self.args = (problem, fix, saved)
        self.saved = saved


class EmptyOutputError(SwarmError):
    """A model answered with nothing."""

    category = Category.FORMAT


class UnmadeCallError(SwarmError):
    """A model wrote the call of a tool as its answer, and it can't be made."""

    category = Category.FORMAT


class TruncatedError(SwarmError):
    """A model's answer was cut off at the most tokens that it may have."""

    category = Category.TRUNCATED


class RefusedError(SwarmError):
    """A model refused to answer, or its answer was filtered."""

    category = Category.REFUSED


class UnavailableError(ModelError):
    """A provider refused for good, or longer than it was waited for; nothing was answered."""

    category = Category.UNAVAILABLE
    exit_code = ExitCode.FAILED


class GateError(SwarmError):
    """A gate's tool is missing or broke: that says nothing about the artifact."""

    category = Category.INFRASTRUCTURE
    exit_code = ExitCode.USAGE


class WorkspaceError(InputError):
    """A folder can't be worked on: there is no git, it is no folder, or a patch doesn't fit it."""


class PatchConflictError(SwarmError):
    """Patches of several steps change the same lines in different ways."""

    category = Category.CONFLICT


class StepWaivedError(SwarmError):
    """The orchestrator does without a step that failed."""


class AnsweredError(InputError):
    """Somebody answered the question before, and otherwise."""


class ApprovalNeededError(SwarmError):
    """An attempt waits for a person; `questions` are the ids of what was asked."""

    def __init__(self, problem: str, fix: str = "", questions: tuple[str, ...] = ()) -> None:
        super().__init__(problem, fix)
        self.args = (problem, fix, questions)
        self.questions = questions


class StepTimeoutError(SwarmError):
    """An attempt did not end within its step's `timeout_s`."""

    category = Category.TIMEOUT


class ItemsError(SwarmError):
    """What a step is to be done for can't be listed: no JSON, no list, or too many items."""

    category = Category.LOGIC


class BudgetExceededError(SwarmError):
    """Launching would exceed a budget; the message has the figures."""

    category = Category.BUDGET


class StorageError(SwarmError):
    """A file can't be written: the disk has no room, or the folder takes no files."""

    category = Category.INFRASTRUCTURE


class ServerError(SwarmError):
    """The Prefect server can't be reached."""

    category = Category.INFRASTRUCTURE


class ClusterError(SwarmError):
    """A Dask cluster can't be reached, has no worker for an attempt, or lost those that it had."""

    category = Category.INFRASTRUCTURE


class SandboxError(SwarmError):
    """This machine can't hold the sandbox, or the sandbox failed; nothing ran outside it."""

    category = Category.INFRASTRUCTURE
    exit_code = ExitCode.USAGE


class RunCancelledError(SwarmError):
    """The run was cancelled on request; what had finished is kept."""

    exit_code = ExitCode.CANCELLED


class RunTerminatedError(RunCancelledError):
    """The run was cancelled since its process was asked to end; what had finished is kept."""

    exit_code = ExitCode.TERMINATED
