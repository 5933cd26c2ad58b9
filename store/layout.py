"""The names of the files in a run's folder; no other module spells one."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

from ..plan.ids import is_step_id
from ..untrusted.opening import is_plain_name
from .protocol import Kept, RecordKind

__all__ = [
    "ABOUT",
    "ACCOUNTS",
    "AGAIN",
    "ARTIFACTS",
    "EVENTS",
    "INPUTS",
    "KEYED",
    "LINES",
    "LOCK",
    "PICTURES",
    "PLAN",
    "RESULT",
    "SINGLE",
    "STEPS",
    "TOOL_STATE",
    "TRANSCRIPTS",
    "name_of",
    "output_file",
    "output_ref",
    "parse_output_ref",
    "step_file",
]

ABOUT, ACCOUNTS, EVENTS = "run.json", "accounts.jsonl", "events.jsonl"
LINES = ".jsonl"
"""How files end that lines are appended to."""
LOCK = "lock"
"""The file that a process holds as long as it executes a run of a folder."""
PLAN, RESULT, INPUTS, AGAIN = "plan.json", "result.json", "inputs.json", "again.json"
SINGLE: dict[RecordKind, str] = {
    "exploration": "explored",
    "facts": "facts",
    "planning": "planned",
    "recall": "recall",
    "source_plan": "given_plan",
    "trace": "trace",
}
"""Records that have files of their own: `recall.json`, and with a key `recall-2.json`."""
KEYED: dict[RecordKind, str] = {
    "answer": "answers",
    "answered": "answered",
    "expansion": "expansions",
    "form": "forms",
    "member": "members",
    "message": "messages",
    "prestart": "ahead",
    "question": "questions",
    "start": "starts",
    "turn": "turns",
}
"""Records that have a folder for each kind, with a file a key."""
ARTIFACTS, PICTURES, TOOL_STATE = "artifacts", "calls/pictures", "python"
STEPS, TRANSCRIPTS = "steps", "transcripts"
_NAME_CHARS = 120


def step_file(step: str) -> str:
    """Return the file of a step with its attempts."""
    return f"{STEPS}/{step}.json"


def output_file(step: str) -> str:
    """Return the file of a step's whole output."""
    return f"outputs/{step}.txt"


def output_ref(run: str, step: str) -> str:
    """Return the reference of a step's whole output: its file below the folder of all runs."""
    return f"{run}/{output_file(step)}"


_OUTPUT_REF = re.compile(r"(?P<run>[^/]+)/outputs/(?P<step>[^/]+)\.txt")


def parse_output_ref(reference: str) -> tuple[str, str] | None:
    """Return the run and the step of a reference to an output; None if it is none."""
    found = _OUTPUT_REF.fullmatch(reference)
    if found is None or not is_plain_name(found["run"]) or not is_step_id(found["step"]):
        return None
    return found["run"], found["step"]


def name_of(what: Kept, key: str = "") -> str:
    """Return the file of something that is kept; without its key, the folder of all of the kind."""
    match what:
        case "":
            return ""
        case "about" | "inputs" | "plan" | "result":
            return {"about": ABOUT, "inputs": INPUTS, "plan": PLAN, "result": RESULT}[what]
        case "output":
            return output_file(key) if key else "outputs"
        case "calls" | "begun":
            return f"{what}/{key}.jsonl" if key else what
        case "tool_state":
            return f"{TOOL_STATE}/{key}/calls.json"
        case "picture":
            return f"{PICTURES}/{key}" if key else PICTURES
        case (
            "answer"
            | "answered"
            | "expansion"
            | "form"
            | "member"
            | "message"
            | "prestart"
            | "question"
            | "start"
            | "turn"
        ):
            return f"{KEYED[what]}/{_plain(key)}.json" if key else KEYED[what]
        case _:
            return f"{SINGLE[what]}-{key}.json" if key else f"{SINGLE[what]}.json"


def _plain(key: str) -> str:
    """Return a key as a file's name."""
    name = quote(key, safe="#", errors="surrogatepass")
    if len(name) > _NAME_CHARS:
        # A file's name has an end: 255 bytes on most systems.
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        name = f"{name[: _NAME_CHARS - 17]}-{digest[:16]}"
    return name
