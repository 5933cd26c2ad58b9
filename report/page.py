"""A run as its pages are made from it, and a page as data. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel

from ..errors import Category
from ..host.secrets import mask_written
from ..inputs.pictures import Picture
from ..metrics.clock import RunTime
from ..plan.ids import is_step_id, root_of
from ..plan.schedule_events import StepStatus
from ..store.attempt import Action
from ..store.losses import lost_of, missing_words
from ..store.result import Cost, Metrics, ParlFigures, Planning, Recall, Undone
from ..store.step import StepState

__all__ = [
    "ACTIONS",
    "CATEGORIES",
    "MOST_LINES",
    "AttemptView",
    "Block",
    "Bullets",
    "Drawing",
    "Figure",
    "Figures",
    "Members",
    "Page",
    "Paragraph",
    "Quoted",
    "Ref",
    "RunView",
    "Section",
    "StepPicture",
    "StepView",
    "Strong",
    "Table",
    "Text",
    "TurnView",
    "WebLink",
    "bounded_list",
    "bounded_table",
    "legend",
    "masked",
    "words_of",
]


@dataclass(frozen=True, slots=True)
class Ref:
    """A link to another page of the same run: `answer`, `plan`, `timeline` or a step's id."""

    page: str
    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """Words that stand out."""

    text: str


@dataclass(frozen=True, slots=True)
class WebLink:
    """A link to a page of the Prefect UI; its words alone where there is no address."""

    url: str
    text: str


Text = str | Ref | Strong | WebLink


def words_of(texts: Sequence[Text]) -> str:
    """Return some words as plain text: without what stands out, and where links lead."""
    return "".join(text if isinstance(text, str) else text.text for text in texts)


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some words, one after another."""

    texts: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; each line is some words."""

    lines: tuple[tuple[Text, ...], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells. What a reader needs first stands left; what may be long stands right.

    Attributes:
        more: How many rows were left out.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[Text, ...], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with what it means, in a line."""

    name: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures, a line each."""

    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Quoted:
    """A text as somebody wrote it, with all its lines.

    Attributes:
        language: What it is written in: `markdown` is drawn as such where that is safe, `diff`,
            `python`, `json` and the like are coloured where they can be; "" is plain text.
        left_out: Characters that were left out at its end.
    """

    text: str
    language: str = ""
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn from the run itself: its graph, its timeline, or what steps cost.

    Attributes:
        says: The same in words, for people who can't see it.
    """

    kind: Literal["graph", "timeline", "costs"]
    says: str


@dataclass(frozen=True, slots=True)
class StepPicture:
    """A picture that a call of a step returned, or that its code left.

    Attributes:
        name: Its file's name.
        origin: Where it is from, in a few words.
        place: Where its file lies.
        drawn: What is drawn of it, written anew; None where it isn't drawn.
        why: Why it isn't; "" where that was not tried.
    """

    name: str
    origin: str
    place: str
    drawn: Picture | None = None
    why: str = ""

    @property
    def says(self) -> str:
        """It in words: name, origin, and how large it is drawn, or why it isn't and where it is."""
        if self.drawn is not None:
            sides = f"{self.drawn.width:,} × {self.drawn.height:,} pixels"
            return f"{self.name}, {self.origin}, {sides}"
        why = f", is not drawn: {self.why}" if self.why else ""
        return f"{self.name}, {self.origin}{why}. It is in {self.place}."


Block = Paragraph | Bullets | Table | Figures | Quoted | Drawing | StepPicture


_MOST_ROWS = 200
MOST_LINES = 50


def bounded_table(
    header: tuple[str, ...], rows: Sequence[tuple[Text, ...]], most: int = _MOST_ROWS
) -> Table:
    """Make a table of the first rows, without columns that are empty, and count the other rows."""
    shown = [place for place in range(len(header)) if any(row[place] for row in rows)]
    return Table(
        tuple(header[place] for place in shown),
        tuple(tuple(row[place] for place in shown) for row in rows[:most]),
        more=max(0, len(rows) - most),
    )


def bounded_list(lines: Sequence[tuple[Text, ...]]) -> Bullets:
    """List the first lines, and count the others."""
    more = len(lines) - MOST_LINES
    shown = tuple(lines[:MOST_LINES])
    return Bullets((*shown, (f"{more:,} more.",)) if more > 0 else shown)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page; `folded` if it opens only on demand where that can be."""

    title: str
    blocks: Sequence[Block]
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `name` is what a `Ref` calls it; `lead` stands before the sections."""

    name: str
    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]


ACTIONS: Mapping[Action, str] = {
    "RETRY": "asked again, with what was wrong",
    "CONTINUE": "written on where the text was cut off",
    "THINK_HARDER": "retried at a higher temperature, with room for more",
    "SAMPLE": "several candidates in parallel, the first to pass wins",
    "ESCALATE": "asked on a higher tier, with another model",
    "DELEGATE": "given to another agent",
    "REPLAN": "written again by the orchestrator, or done without",
    "KEEP": "taken as it is, marked as cut off",
    "ASK": "a person was asked, and advised the next attempt",
    "SKIP": "done without",
    "FAIL": "given up",
}
"""The meaning of each action, for readers of a page alone."""

CATEGORIES: Mapping[Category, str] = {
    Category.FORMAT: "it can't be read as what it should be, or lacks its form",
    Category.SCHEMA: "JSON that its schema refuses",
    Category.CODE: "code that breaks",
    Category.LOGIC: "it runs, and gives something wrong",
    Category.TIMEOUT: "its time was over",
    Category.EARLY_ABORT: "the model was stopped, since what it wrote was certain to fail",
    Category.TRUNCATED: "the answer was cut off at the most tokens it may have",
    Category.REFUSED: "the model refused to answer, or its answer was filtered",
    Category.UNAVAILABLE: "the provider refused the request, or wasn't there",
    Category.CONFLICT: "another step's patch changes the same lines otherwise",
    Category.INFRASTRUCTURE: "not the model's fault: a connection, a tool, the machine",
    Category.BUDGET: "the run, or the model's context, had no room for it",
    Category.UPSTREAM: "a step that it needs did not succeed",
    Category.UNKNOWN: "none of the known kinds of failure",
}
"""What each category means, likewise."""


def legend(steps: Sequence[StepState]) -> str:
    """Explain the categories and actions that some steps met, and how rules are written."""
    attempts = [attempt for step in steps for attempt in step.attempts]
    categories = {attempt.category for attempt in attempts}
    actions = {attempt.decision.action for attempt in attempts if attempt.decision}
    words = {
        **{str(each): meaning for each, meaning in CATEGORIES.items() if each in categories},
        **{str(each): meaning for each, meaning in ACTIONS.items() if each in actions},
    }
    meanings = "; ".join(f"{word}: {meaning}" for word, meaning in words.items())
    return (
        f"{meanings}. A rule names the category and what its failures on this tier have led to "
        "so far; the decision is the last of these."
    )


@dataclass(frozen=True, slots=True)
class AttemptView:
    """What an attempt was sent and what it answered; "" where nothing is stored (any more).

    Attributes:
        number: As in the step's state.
        instructions: The system prompt.
        sent: The prompt as it was sent, with what it read and what earlier attempts had led to.
        answered: The answer as the model wrote it; of one that runs, the end of it.
        launched_at: When one that runs started.
        waiting_since: When one that runs began to wait for its provider; None if it doesn't.
        waited_s: Seconds that one that runs has waited before.
        written: Tokens that one that runs has written, estimated.
        writer: The candidate and request that wrote them.
    """

    number: int
    instructions: str = ""
    sent: str = ""
    answered: str = ""
    launched_at: float = 0.0
    waiting_since: float | None = None
    waited_s: float = 0.0
    written: int = 0
    writer: tuple[int, int] = (0, 0)

    def wait_s(self, now: float) -> float:
        """Seconds that one that runs has waited for its provider."""
        since = self.waiting_since
        return self.waited_s + (max(0.0, now - since) if since is not None else 0.0)

    def work_s(self, now: float) -> float:
        """Seconds that one that runs has worked."""
        return max(0.0, now - self.launched_at - self.wait_s(now))


@dataclass(frozen=True, slots=True)
class Members:
    """The members of a step, counted.

    Attributes:
        word: What they are: `instance`, `round`, or `step` of the plan inside it.
        statuses: How many have each status.
        failed: Ids of those that failed.
        running: The attempts at them that run, as in `StepView`.
    """

    word: str
    statuses: Mapping[StepStatus, int]
    failed: tuple[str, ...] = ()
    running: tuple[AttemptView, ...] = ()


@dataclass(frozen=True, slots=True)
class StepView:
    """A step now, or as it ended.

    Attributes:
        state: Its attempts with gates, decisions and calls; the status `unfinished` if it goes on.
        status: As the schedule has it: waiting, asked, ready, running, succeeded, failed, skipped,
            cancelled.
        why: What it waits for, or how it ended; "" if there is nothing to say.
        kind: What it makes: text, json, python, shell, files.
        reads: What it was given: names of inputs and steps, with the characters of each.
        output: What it made, whole or cut; None if there is nothing.
        output_chars: How long the whole is.
        files: Names of the files that it left.
        pictures: Those among its files, and those that its calls returned.
        running: The attempt that runs, on a screen that follows a run's events.
        members: Its members, where it is shown without them; then its attempts are theirs.
    """

    state: StepState
    upstream: tuple[str, ...]
    status: StepStatus
    why: str = ""
    kind: str = "text"
    optional: bool = False
    reads: tuple[tuple[str, int], ...] = ()
    attempts: tuple[AttemptView, ...] = ()
    output: str | None = None
    output_chars: int = 0
    files: tuple[str, ...] = ()
    pictures: tuple[StepPicture, ...] = ()
    running: AttemptView | None = None
    members: Members | None = None

    @property
    def id(self) -> str:
        """The step's id."""
        return self.state.id

    @property
    def status_words(self) -> str:
        """Its status in words: one that was skipped after attempts *gave up*."""
        gave_up = self.status == "skipped" and self.state.attempts and not self.state.by_condition
        return "gave up" if gave_up else self.status

    @property
    def parent(self) -> str:
        """The step that it is a member of; "" for a step of the plan."""
        return self.state.parent

    @property
    def tokens(self) -> int:
        """Tokens of the attempts that ended, and what the running one has written."""
        return self.state.tokens + sum(each.written for each in self._under_way)

    def work_s(self, now: float) -> float:
        """Seconds worked so far; what still runs counts up to `now`."""
        return self.state.work_s + sum(each.work_s(now) for each in self._under_way)

    @property
    def _under_way(self) -> tuple[AttemptView, ...]:
        own = (self.running,) if self.running else ()
        return (*own, *(self.members.running if self.members else ()))


@dataclass(frozen=True, slots=True)
class MessageView:
    """What a person wrote to the orchestrator.

    Attributes:
        turn: The number of the turn that read it; None if none has.
    """

    number: int
    at: float
    text: str
    by: str = ""
    name: str = ""
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn of the orchestrator after the first.

    Attributes:
        began_at: When it was asked; 0 if that isn't known.
        cause: Why it had one: `seen`, `failed` or `over`.
        steps: Ids of the steps that it assigned.
        given_up: Ids of the steps that it ended.
        look_after: Ids of the steps after which it has its next turn.
        finished: Whether the run ends with it.
        waits: Whether a person has not decided about it yet.
        refused: Why a person rejected it; "" if nobody did.
        work_s: Seconds that its model took.
        tokens: What it took.
        messages: Numbers of the messages that it was shown.
    """

    number: int
    began_at: float = 0.0
    cause: str = ""
    steps: tuple[str, ...] = ()
    given_up: tuple[str, ...] = ()
    look_after: tuple[str, ...] = ()
    finished: bool = False
    waits: bool = False
    refused: str = ""
    work_s: float = 0.0
    tokens: int = 0
    messages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RunView:
    """A run now, or as it ended.

    Attributes:
        status: completed, partial, failed, unfinished (left), or running.
        answer: "" as long as there is none.
        metrics: None before any step ran.
        recall: What the memory knew; None without one.
        time: Where its time went; None before it has ended, or if it wasn't measured.
        parl: The run by PARL's measures; None before it has ended.
        messages: What was written to its orchestrator, in order.
        turns: The orchestrator's turns after the first, in order.
        undone: The steps whose acts were undone, or were to be; such a run doesn't go on.
    """

    run_id: str
    flow_run_id: str
    objective: str
    status: str
    answer: str
    problem: str
    steps: tuple[StepView, ...]
    planning: Planning | None
    metrics: Metrics | None
    cost: Cost
    recall: Recall | None = None
    taught: tuple[str, ...] = ()
    time: RunTime | None = None
    parl: ParlFigures | None = None
    messages: tuple[MessageView, ...] = ()
    turns: tuple[TurnView, ...] = ()
    began_at: float = 0.0
    ended_at: float | None = None
    undone: tuple[Undone, ...] = ()

    @property
    def origin(self) -> float:
        """The first second of its pages: when it began, or its first step if that isn't known."""
        firsts = (step.state.attempts[0].started_at for step in self.steps if step.state.attempts)
        first = min(firsts, default=0.0)
        return min(self.began_at, first) if self.began_at and first else self.began_at or first

    @property
    def lost(self) -> tuple[StepState, ...]:
        """The steps and items that failed for good, once a run is over that others have done."""
        if self.status not in ("completed", "partial"):
            return ()
        return lost_of(step.state for step in self.steps)

    @property
    def status_words(self) -> str:
        """The status, and how much is missing: `completed, 3 items missing`."""
        missing = missing_words(self.lost)
        return f"{self.status}, {missing}" if missing else self.status

    def turn_of(self, step: str) -> int:
        """Return the turn that assigned a step or the one that it is a member of; 1 is the plan."""
        if not self.turns:
            return 1
        root = root_of(step) if is_step_id(step) else step
        return next((turn.number for turn in self.turns if root in turn.steps), 1)


T = TypeVar("T")


def masked(data: T, secrets: Collection[str] = ()) -> T:
    """Return a view, or a part of it, with the secrets in its texts masked.

    Args:
        secrets: Values that must not be shown, such as those of the environment's keys.
    """
    return cast("T", _masked(data, partial(mask_written, secrets=secrets)))


def _masked(value: object, hide: Callable[[str], str]) -> object:
    """Return the value, or what takes its place; the same object where nothing is hidden."""
    if isinstance(value, str):
        return hide(value) if len(value) > _SHORTEST else value
    if isinstance(value, tuple | list):
        parts = cast("tuple[object, ...] | list[object]", value)
        hidden = [_masked(part, hide) for part in parts]
        same = all(new is old for new, old in zip(hidden, parts, strict=True))
        if same:
            return parts
        return tuple(hidden) if isinstance(parts, tuple) else hidden
    if isinstance(value, BaseModel):
        changed = _changes(value, list(type(value).model_fields), hide)
        return value.model_copy(update=changed) if changed else value
    if is_dataclass(value) and not isinstance(value, type):
        changed = _changes(value, [each.name for each in fields(value)], hide)
        return replace(cast("Any", value), **changed) if changed else value
    return value


def _changes(value: object, names: list[str], hide: Callable[[str], str]) -> dict[str, object]:
    parts = {name: getattr(value, name) for name in names}
    hidden = {name: _masked(part, hide) for name, part in parts.items()}
    return {name: part for name, part in hidden.items() if part is not parts[name]}


_SHORTEST = 5  # no secret is shorter, and most texts of a run are
