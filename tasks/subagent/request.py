"""Request and result of a subagent."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from ...data_types import Frozen
from ...errors import Category, UnavailableError
from ...inputs.pictures import Picture, parts_of
from ...metrics.clock import Stretch
from ...plan.call import PlannedCall
from ...plan.ids import is_step_id
from ...plan.output import OutputKind, StepOutput
from ...plan.task_ir import TierName
from ...quoting import PromptPart, Quote, called, with_quotes
from ...store.attempt import Compaction, Omission, ToolCall, Usage
from ...text import BYTES_PER_TOKEN, tokens_of
from ...workspace.place import Workplace

__all__ = [
    "BYTES_PER_TOKEN",
    "EXPLANATION_TOKENS",
    "EXPLORE",
    "MARKS_TOKENS",
    "NOT_ACCEPTED",
    "CallLimits",
    "Exchange",
    "SubagentRequest",
    "SubagentResult",
    "UnansweredError",
    "cut",
    "cut_tokens",
    "omissions_of",
    "picture_tokens",
    "pictures_of",
    "prompt_of",
    "shares",
    "tokens_of",
]


MARKS_TOKENS, EXPLANATION_TOKENS = 7, 30
"""Tokens, as they are estimated, of the marks around a text in a prompt, and of what is said of
them."""
_SHORT = 60  # below this a count of what was left out would take more than it tells


def shares(lengths: Sequence[int], limit: int) -> list[int]:
    """Divide `limit` tokens or characters among texts so that none is cut before a longer one is.

    Each gets an even share; what short ones leave over goes to the others.
    """
    portions = [0] * len(lengths)
    remaining = max(0, limit)
    by_length = sorted(range(len(lengths)), key=lambda n: lengths[n])
    for done, n in enumerate(by_length):
        portions[n] = min(lengths[n], remaining // (len(lengths) - done))
        remaining -= portions[n]
    return portions


def cut(text: str, limit: int) -> str:
    """Return the text in at most `limit` characters, saying how many were left out."""
    if len(text) <= limit:
        return text
    mark = f" … [{len(text) - limit} more characters]" if limit >= _SHORT else "…"
    return text[: max(0, limit - len(mark))].rstrip() + mark[: max(0, limit)]


def cut_tokens(text: str, limit: int) -> str:
    """Return the text in at most `limit` tokens, as they are estimated."""
    tokens = tokens_of(text)
    if tokens <= limit:
        return text
    # Not all characters have as many bytes; what is cut too little is cut again.
    characters = len(text) * limit // tokens
    while tokens_of(shorter := cut(text, characters)) > limit and characters:
        characters = characters * 9 // 10
    return shorter if characters else ""


class CallLimits(Frozen):
    """What bounds a model's call; None is left to the model or its provider.

    Attributes:
        max_input_tokens: Tokens of upstream texts that it reads, their labels included.
        temperature: Of sampling.
        seed: Of sampling, where the model is local; others are only sent one that a person set.
        timeout_s: Seconds of work that it may take; waits for the provider don't count.
        max_calls: Calls of tools; where None, or more than that, what the run's limits say.
    """

    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    thinking: str | bool | None = None
    seed: int = 0
    seed_is_set: bool = False
    timeout_s: float = 600.0
    max_calls: int | None = None


EXPLORE = "explore"
"""Stands in a step's place where the orchestrator looks around before it plans."""

_NOT_THE_INPUT = {
    *("key", "run", "model", "priority"),
    *("asked", "remarks"),
    *CallLimits.model_fields,
}
"""Left out of the key of a finished attempt: a resumed run may name another model and other
bounds, and what was answered stays answered. `asked` and `remarks` say nothing that `prompt` and
`feedback` don't, and runs that began before there were any are found as ever."""


class Exchange(Frozen):
    """What a model was asked before in the same conversation, and what it answered."""

    asked: str
    answered: str


class SubagentRequest(CallLimits):
    """All that one attempt depends on, its limits among it.

    `key` names it across processes, by flow run, plan, step and attempt; `run` is the flow run.
    """

    key: str
    run: str
    step: str
    agent: str
    attempt: int
    tier: TierName
    model: str
    instructions: str
    prompt: str
    asked: tuple[PromptPart, ...] = Field(
        default=(), description="The prompt in parts, where others' texts are among it."
    )
    history: tuple[Exchange, ...] = Field(
        default=(), description="The conversation that it goes on with, from its beginning."
    )
    upstream: tuple[StepOutput, ...] = ()
    feedback: str = ""
    remarks: tuple[Quote, ...] = Field(
        default=(), description="The feedback in parts, where it is of several people or programs."
    )
    previous: str = Field(default="", description="The best attempt so far, to go on from.")
    begun: str = Field(default="", description="An answer that was cut off, to be written on.")
    sample: int = Field(default=0, description="Its number among the samples of its race.")
    priority: float = Field(
        default=0.0, description="The length of the path that remains from its step."
    )
    summarised: tuple[Omission, ...] = Field(
        default=(), description="The upstream texts that are summaries."
    )
    lesson: str = Field(default="", description="What earlier steps like it have shown, quoted.")
    output: OutputKind = "text"
    output_schema: str = ""
    grammar: str = Field(default="", description="GBNF that a local model's answer obeys, if any.")
    output_requirements: tuple[str, ...] = Field(
        default=(), description="What else its gates will look at."
    )
    tools: tuple[str, ...] = Field(default=(), description="Toolsets that it works with.")
    call: PlannedCall | None = Field(
        default=None, description="The call that it is, where no model is asked."
    )
    workplace: Workplace | None = Field(
        default=None, description="What it starts from in the run's workspace."
    )

    @property
    def looks_around(self) -> bool:
        """Whether the orchestrator looks around before it plans: with tools that change nothing."""
        return self.step == EXPLORE

    @property
    def name(self) -> str:
        """Names it within its run: step and attempt, and the sample where there are several."""
        return f"{self.step}.{self.attempt}" + (f".{self.sample}" if self.sample else "")

    def cache_key(self) -> str:
        """Return the key that a finished attempt is found under: its name and its input's hash."""
        return f"{self.key}.{self.content_hash()}"

    def content_hash(self) -> str:
        """Return the hash of what is asked, whichever plan it belongs to."""
        # Without tools, or earlier exchanges, it has the hash that it had before there were any.
        without = _NOT_THE_INPUT | {
            name for name in ("tools", "history", "call", "workplace") if not getattr(self, name)
        }
        text = self.model_dump_json(exclude=without)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class SubagentResult(Frozen):
    """How an attempt at a request ended. `category` is None if it succeeded.

    Attributes:
        text: The artifact, taken out of what the model wrote; the transcript has all that it wrote.
        extraction: The rule by which it was taken out.
    """

    text: str = ""
    extraction: str = ""
    model: str
    started_at: float
    ended_at: float
    queue_s: float = 0.0
    waits: tuple[Stretch, ...] = Field(default=(), description="For providers and slots.")
    usage: Usage = Usage()
    category: Category | None = None
    error: str = ""
    tokens_saved: int = Field(default=0, description="What it may have gone on to write.")
    left_out: tuple[Omission, ...] = Field(default=(), description="Of what it was to read.")
    timeout_s: float | None = Field(default=None, description="The limit it ran under.")
    calls: tuple[ToolCall, ...] = Field(default=(), description="Of tools.")
    compactions: tuple[Compaction, ...] = Field(default=(), description="Of its conversation.")

    @property
    def work_s(self) -> float:
        """Seconds of work: from start to end, less the wait for the model's turn."""
        return max(0.0, self.ended_at - self.started_at - self.queue_s)


class UnansweredError(UnavailableError):
    """A request that the provider didn't answer; `result` has how long that took.

    Raised where a result would be kept: a resumed run asks again.
    """

    def __init__(self, result: SubagentResult) -> None:
        super().__init__(result.error)
        self.args = (result,)
        self.result = result

    def __str__(self) -> str:
        """Return the error that the result has."""
        return self.result.error


NOT_ACCEPTED = "The last answer was not accepted:"
"""Stands before what was wrong with an answer."""
_FORMS: dict[OutputKind, str] = {
    "text": "",
    "json": "Answer with JSON alone.",
    "python": "Answer with one Python file in a ```python block.",
    "shell": "Answer with one shell script in a ```sh block.",
    "files": "Answer with each file in a block of its own, its path on the line before.",
    "patch": "Change the files of the workspace with its tools until the work is done; then say in "
    "a few words what you changed. Without tools, answer with a unified diff in a ```diff block.",
}


def prompt_of(request: SubagentRequest) -> str:
    """Write the user's message: what there is to read, each text under its name, then the work.

    The texts and their labels take at most `max_input_tokens` together. Whatever somebody else
    wrote stands between marks: see `quoting`.
    """
    readings, _ = _readings(request.upstream, request.max_input_tokens, marked=True)
    return "\n\n".join(with_quotes([*readings, *_work(request)]))


def pictures_of(request: SubagentRequest) -> tuple[tuple[str, Picture], ...]:
    """Return the pictures that are shown before the prompt, each with the line that names it."""
    read, _ = _shown(request.upstream, request.max_input_tokens)
    return tuple(picture for text in read for picture in text.pictures)


def picture_tokens(request: SubagentRequest) -> int:
    """Estimate the tokens of the pictures before the prompt, with their labels."""
    return sum(tokens_of(label) + picture.tokens for label, picture in pictures_of(request))


def omissions_of(request: SubagentRequest, *, marked: bool = True) -> tuple[Omission, ...]:
    """Return what the prompt has no room for.

    Args:
        marked: Whether the marks around texts take room, as they do in the prompt.
    """
    return _readings(request.upstream, request.max_input_tokens, marked=marked)[1]


def _work(request: SubagentRequest) -> list[PromptPart]:
    """What is asked, and what helps with it."""
    parts: list[PromptPart] = [*(request.asked or (request.prompt,))]
    if form := _FORMS[request.output]:
        parts.append(form)
    parts += request.output_requirements
    if request.output == "patch" and request.workplace and request.workplace.checks:
        checks = "\n".join(request.workplace.checks)
        parts.append(f"With your change these have to pass as they do without it:\n{checks}")
    if request.output_schema:
        parts.append(f"It has to fit this JSON Schema: {request.output_schema}")
    if request.lesson:
        parts.append(Quote(text=request.lesson))
    if request.previous:
        room = request.max_input_tokens
        previous = cut_tokens(request.previous, room // 2) if room else request.previous
        parts.append(Quote(text=previous, label="This was tried before:"))
    if request.feedback:
        remarks = request.remarks or (_quote(request.feedback, NOT_ACCEPTED),)
        parts += [remark for remark in remarks if remark.text]
    return parts


@dataclass(frozen=True, slots=True)
class _Shown:
    """A text as the prompt has it, and the pictures that stand before that, with their labels.

    Attributes:
        tokens: Those that its pictures take, without those that there is no room for.
        lost: The tokens of these.
    """

    output: StepOutput
    pictures: tuple[tuple[str, Picture], ...] = ()
    tokens: int = 0
    lost: int = 0

    @property
    def is_picture(self) -> bool:
        return bool(self.pictures or self.lost) and not self.output.text


def _shown(outputs: Sequence[StepOutput], limit: int | None) -> tuple[list[_Shown], int | None]:
    """Take the pictures out of texts, as many as there is room for; return what remains of it."""
    found: list[_Shown] = []
    for output in outputs:
        found.append(shown := _taken_out(output, limit))
        limit = None if limit is None else limit - shown.tokens
    return found, limit


def _taken_out(output: StepOutput, limit: int | None) -> _Shown:
    parts = parts_of(output.text)
    if all(isinstance(part, str) for part in parts):
        return _Shown(output)
    pictures: list[tuple[str, Picture]] = []
    texts: list[str] = []
    used = lost = 0
    label = _label(output).rstrip(":")
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif limit is not None and used + part.tokens > limit:
            lost += part.tokens
            texts.append(_LEFT_OUT)
        elif len(parts) == 1:
            pictures.append((f"{label}:", part))
            used += part.tokens
        else:
            page = texts[-1].rstrip().rpartition("\n")[2].strip("[]")
            texts.append(f"[the picture above of {page}]")
            pictures.append((f"{label}, {page}:", part))
            used += part.tokens
    shown = output.model_copy(update={"text": "".join(texts)})
    return _Shown(shown, tuple(pictures), used, lost)


def _readings(
    outputs: Sequence[StepOutput], limit: int | None, *, marked: bool
) -> tuple[list[PromptPart], tuple[Omission, ...]]:
    shown, limit = _shown(outputs, limit)
    outputs = [text.output for text in shown]
    labels = [_label(text) for text in outputs]
    if limit is None:
        return [_part(text, label) for text, label in zip(shown, labels, strict=True)], ()
    if is_short := sum(tokens_of(f"{label}\n") for label in labels) > limit // 2:
        labels = [f"{called(text.name)}:" for text in outputs]
    # What stands behind a label, a line's end or a blank, is a character as well.
    room = limit - sum(tokens_of(f"{label} ") + 1 for label in labels)
    if marked:
        room -= EXPLANATION_TOKENS + len(outputs) * MARKS_TOKENS
    tokens = [tokens_of(text.text) for text in outputs]
    texts = [
        cut_tokens(text.text, share)
        for text, share in zip(outputs, shares(tokens, room), strict=True)
    ]
    left_out = tuple(
        Omission(
            name=text.output.name,
            tokens=of - tokens_of(cut_text) + text.lost,
            of=of + text.tokens + text.lost,
        )
        for text, cut_text, of in zip(shown, texts, tokens, strict=True)
        if cut_text != text.output.text or text.lost
    )
    parts = [
        _part(
            replace(text, output=text.output.model_copy(update={"text": cut_text})),
            label,
            short=is_short,
        )
        for text, label, cut_text in zip(shown, labels, texts, strict=True)
    ]
    return parts, left_out


_LEFT_OUT = "[a picture is left out: there is no room for it]"


def _part(shown: _Shown, label: str, *, short: bool = False) -> PromptPart:
    if shown.is_picture:
        return f"{label} the picture above that is called so."
    return _quote(shown.output.text, label, short=short)


def _quote(text: str, label: str, *, short: bool = False) -> Quote:
    return Quote(text=text, label=label, short=short)


def _label(text: StepOutput) -> str:
    about = f", {called(text.label)}" if text.label else ""
    name = text.name if is_step_id(text.name) else called(text.name)
    if not text.agent:
        return f"Input {name}{about}:"
    return f"Result of {name} ({called(text.agent)}){about}:"
