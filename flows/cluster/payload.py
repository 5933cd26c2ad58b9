"""What goes to a Dask worker and comes back from it, as JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, TypeAdapter

from ...data_types import Frozen
from ...gates import GateResult, PipelineResult
from ...store.attempt import ToolCall, Usage
from ...tasks.inspection import Inspection
from ...tasks.subagent.request import SubagentRequest, SubagentResult

__all__ = [
    "MOST_STARTS",
    "Answered",
    "Began",
    "Called",
    "Failed",
    "Found",
    "Inspected",
    "Lacks",
    "Lost",
    "Message",
    "MessageBatch",
    "Outcome",
    "RunSetup",
    "Said",
    "Took",
    "Waits",
    "WaitsForPerson",
    "Wants",
    "Work",
    "read_outcome",
]


MOST_STARTS = 2
"""How often an attempt is begun; a worker that is lost after the last of them is one too many."""


class RunSetup(Frozen):
    """What a worker makes the run's toolsets and models of; no secret is in it.

    Attributes:
        version: Of this package, where the run is executed.
        run: The flow run's id.
        token: What names who executes it, in its store.
        topic: What the worker's messages are called by.
        options: Those of the run.
    """

    version: str
    run: str
    token: int
    topic: str
    options: Mapping[str, Any]


class Work(Frozen):
    """An attempt, or an inspection of what one made.

    Attributes:
        version: Of this package, once more: a worker with another one reads nothing else.
        key: Dask's, which is another one each time that it is sent.
        sent: What is counted by how often it is begun.
        streams: Whether providers are asked to stream, and whether the arguments of calls are
            passed on, too; None where nobody reads what models write.
    """

    version: str
    key: str
    sent: str
    setup: RunSetup
    request: SubagentRequest | None = None
    inspection: Inspection | None = None
    streams: tuple[bool, bool] | None = None

    @property
    def name(self) -> str:
        """The cache key of what is worked on."""
        if self.request is not None:
            return self.request.cache_key()
        return self.inspection.key if self.inspection is not None else ""


class Answered(Frozen):
    """A request's result, and what this worker took for it."""

    kind: Literal["answered"] = "answered"
    result: SubagentResult
    taken: Usage


class Inspected(Frozen):
    """What gates found."""

    kind: Literal["inspected"] = "inspected"
    result: PipelineResult


class WaitsForPerson(Frozen):
    """The attempt goes on once a person has decided; see `ApprovalNeededError`."""

    kind: Literal["waits"] = "waits"
    problem: str
    fix: str
    questions: tuple[str, ...]
    taken: Usage


class Lacks(Frozen):
    """The worker can't work on it, and another one may: a key, a toolset, a sandbox is missing."""

    kind: Literal["lacks"] = "lacks"
    worker: str
    address: str
    what: str


class Lost(Frozen):
    """So many workers were lost that worked on it, and this one doesn't begin any more."""

    kind: Literal["lost"] = "lost"
    worker: str


class Failed(Frozen):
    """Something broke that is no result, or what the worker would write is refused."""

    kind: Literal["failed"] = "failed"
    worker: str
    problem: str


Outcome = Answered | Inspected | WaitsForPerson | Lacks | Lost | Failed
_OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Annotated[Outcome, Discriminator("kind")])


def read_outcome(text: str) -> Outcome:
    """Return what work came to."""
    return _OUTCOME.validate_json(text)


class _Of(Frozen):
    """What all messages have: the key of their work."""

    key: str


class Began(_Of):
    """A worker begins to work on it."""

    kind: Literal["began"] = "began"


class Said(_Of):
    """What a model writes; `begins` with each answer anew."""

    kind: Literal["said"] = "said"
    text: str = ""
    begins: bool = False


class Called(_Of):
    """A call of a tool begins or ends."""

    kind: Literal["called"] = "called"
    call: ToolCall


class Waits(_Of):
    """A wait for a provider begins; without `provider` it is over."""

    kind: Literal["waiting"] = "waiting"
    provider: str = ""
    why: str = ""
    seconds: float | None = None
    words: str = ""


class Found(_Of):
    """What a gate found."""

    kind: Literal["found"] = "found"
    result: GateResult


class Took(_Of):
    """What the work took so far on this worker."""

    kind: Literal["took"] = "took"
    usage: Usage


class Wants(_Of):
    """It would send another request; `number` names the question in the reply."""

    kind: Literal["wants"] = "wants"
    number: int
    usage: Usage
    input_tokens: int


Message = Began | Said | Called | Waits | Found | Took | Wants


class MessageBatch(Frozen):
    """Messages of a worker, by its address, in their order."""

    worker: str
    items: tuple[Annotated[Message, Discriminator("kind")], ...] = Field(default=())
