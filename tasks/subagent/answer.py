"""Checks of an answer before any gate, and the artifact that is taken out of it. Pure."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...models.answers.lenient_json import FoundJson, find_json, is_json
from ...plan.task_ir import OutputKind

__all__ = [
    "GO_ON",
    "Extraction",
    "abort_reason",
    "cut_mark",
    "extract",
    "joined",
    "refuses",
    "resume_point",
    "watch",
]


GO_ON = "Your answer was cut off at its limit. Go on exactly where it stopped; repeat nothing."
_OVERLAP = 400
_LEAST_OVERLAP = 12
_FENCE = re.compile(r"^ {0,3}```", re.MULTILINE)
_OPENED_AGAIN = re.compile(r"\s*```[ \t]*[^\s`][^\n`]*\n")


def resume_point(text: str, kind: OutputKind) -> str:
    """Return what of a text that was cut off is whole: up to its last word, or its last line.

    Whether a word goes on or another one begins, a model that reads the text can't tell.
    """
    end = max(text.rfind("\n"), -1 if kind != "text" else text.rfind(" "))
    return text[: end + 1] if end > len(text) // 2 else text


def joined(start: str, continued: str) -> str:
    """Return a text and its continuation as one; what the second repeats of the first's end goes.

    A model that goes on says the last words once more, begins with a blank of its own, or opens the
    block of code again that it is in.
    """
    if len(_FENCE.findall(start)) % 2 and (opened := _OPENED_AGAIN.match(continued)):
        continued = continued[opened.end() :]
    if start[-1:].isspace():
        continued = continued.lstrip(" ") if start[-1] == " " else continued.removeprefix("\n")
    most = min(len(start), len(continued), _OVERLAP)
    for length in range(most, _LEAST_OVERLAP - 1, -1):
        if start.endswith(continued[:length]):
            return start + continued[length:]
    return start + continued


def cut_mark(tokens: int) -> str:
    """Return what is put behind a text that goes on although it is cut off."""
    return f"\n\n[The text was cut off here, after {tokens:,} tokens.]"


_ROUNDS = 6
_LONGEST_PHRASE = 12
_LINES, _CODE_LINES = 8, 24
_MOST_BLANKS = 200
_BLANKS = re.compile(rf"\s{{{_MOST_BLANKS}}}")
# `range(range(range(…`: nothing that is asked for goes so deep.
_NESTED = re.compile(r"([\w.]{0,40}[(\[{])\1{23}")
_NESTED_CHARS = 1200
_LOOKED_AT = 20_000
"""Characters of either end that are looked at: it is done again and again while a text grows."""
_OPENING_FENCE = re.compile(r"^[ \t]*```[ \t]*(\w+)", re.MULTILINE)
_OTHERS: Mapping[OutputKind, frozenset[str]] = MappingProxyType(
    {
        "python": frozenset({"javascript", "js", "java", "c", "cpp", "go", "rust", "ruby", "php"}),
        "shell": frozenset({"python", "py", "javascript", "js", "java", "c", "go", "rust"}),
        "json": frozenset({"python", "py", "yaml", "xml", "toml"}),
    }
)


def watch(kind: OutputKind) -> Callable[[str], str]:
    """Return a look at a text so far: why it is certain to fail, empty if it isn't."""
    return lambda text: abort_reason(text, kind)


def abort_reason(text: str, kind: OutputKind) -> str:
    """Say why a text is certain to fail.

    It is if it ends in six rounds of the same words (in a string of JSON twelve that are long), in
    eight of the same line (24 of code), in 200 blanks, if it opens 24 brackets within one another
    by the same word, or if the first block it opens is of another language than is asked for.
    """
    beginning, is_cut, text = text[:_LOOKED_AT], len(text) > _LOOKED_AT, text[-_LOOKED_AT:]
    if kind in _OTHERS and (fence := _OPENING_FENCE.search(beginning)):
        language = fence[1].lower()
        if language in _OTHERS[kind]:
            return f"{language} instead of {kind}"
    if _BLANKS.fullmatch(text[-_MOST_BLANKS:]):
        return "blanks without end"
    if nested := _NESTED.search(text[-_NESTED_CHARS:]):
        return f"{nested[1]!r} within itself without end"
    lines = [line for line in map(str.strip, text.splitlines()[is_cut:-1]) if len(line) > 3]
    # Data in code may well have the same line some times.
    most = _LINES if kind == "text" else _CODE_LINES
    last = lines[-most:]
    if len(last) == most and len(set(last)) == 1:
        return f"the line {last[0][:60]!r} over and over"
    if kind in ("text", "files") and (phrase := _rounds(text)):
        return f"{phrase[:60]!r} over and over"
    if kind == "json" and (phrase := _rounds_in_string(text)):
        return f"{phrase[:60]!r} over and over"
    return ""


_STRING_CHARS = 4_000
_STRING_ROUNDS, _LEAST_REPEATED, _LONGEST_REPEATED = 12, 240, 200
"""Rounds, and the characters that they have together at least; characters of a phrase."""
_QUOTE_OR_ESCAPE = re.compile(r'\\.|"', re.DOTALL)
_OUTSIDE_STRINGS = re.compile(r"(?:[\s\d,:\[\]{}+.E-]|true|false|null)*+[a-z]{0,4}")
_LETTER = re.compile(r"[^\W\d_]")
_BETWEEN_WORDS = re.compile(r"[\s\\]")


def _rounds_in_string(text: str) -> str:
    """The phrase that the string of JSON at a text's end repeats; "" if there is none.

    Rows of a table or a rule of dashes may be alike: it has words, and more rounds than in a text.
    """
    text = text[-_STRING_CHARS:]
    quotes = [found.end() for found in _QUOTE_OR_ESCAPE.finditer(text) if found[0] == '"']
    string = text[quotes[-1] if quotes else 0 :]
    if _OUTSIDE_STRINGS.fullmatch(string):
        return ""
    for length in range(1, _LONGEST_REPEATED + 1):
        least = max(length * _STRING_ROUNDS, _LEAST_REPEATED)
        if len(string) < least:
            return ""
        end = string[-least:]
        if end[length:] == end[:-length]:
            return _phrase(end[:length])
    return ""


def _phrase(repeated: str) -> str:
    """Return a phrase from the beginning of a word on; "" if it has no words."""
    if not _LETTER.search(repeated):
        return ""
    gap = _BETWEEN_WORDS.search(repeated)
    if gap is None:
        # In some scripts no blank stands between words.
        return "" if repeated.isascii() else repeated
    return f"{repeated[gap.start() :]}{repeated[: gap.start()]}".strip()


def _rounds(text: str) -> str:
    """The phrase that a text ends in six times, if it does; the last word may be incomplete."""
    words = text.split()[:-1]
    for length in range(1, _LONGEST_PHRASE + 1):
        end = words[-length * _ROUNDS :]
        if len(end) == length * _ROUNDS and all(
            end[n] == end[n % length] for n in range(length, len(end))
        ):
            return " ".join(end[:length])
    return ""


_LONGEST, _LONGEST_PLAIN = 400, 1500
"""Characters of a text that may be nothing but a refusal; longer ones have something to say. One
whose first sentence is a plain refusal may go on about what else there is to ask."""

_FIRST = (
    r"(?:(?:i['’]m|i am) (?:very |really |so |truly )?sorry|(?:i['’]m|i am) afraid"
    r"|(?:very |so )?sorry|unfortunately|i apologi[sz]e|my apologies)"
    r"(?:,? (?:but|that))?[,.:;]? "
)
_AS_AI = (
    r"(?:as|i['’]m(?: just| only)?|i am(?: just| only)?) an? (?:ai|(?:large )?language model)\b"
    r"[^.!?\n]{0,60}?[ ,]"
)
_CANNOT = (
    r"i(?: (?:can['’]?t|cannot|can not|won['’]?t|will not)|(?:['’]m| am) (?:unable to|not able to))"
)
_BETWEEN = (
    r"(?:,? (?:and|or|will|won['’]t|not|be|able|to|really|simply|just|currently|directly|actually"
    r"|ethically|legally|in good conscience))*"
)
_VERB = (
    r"(?:help(?! but\b| \w+ing\b)|assist|comply|fulfill?|provide|do th(?:at|is)|answer|support"
    r"|create|write|generate|engage|discuss|continue|share|produce|complete)"
)
_DOING = (
    r"(?:(?:help|assist|writ|provid|creat|generat|engag|discuss|answer|shar|produc|continu)ing"
    r"|(?:doing |with )?th(?:at|is))"
)
_REFUSAL = re.compile(
    rf"\W*(?:{_FIRST})?(?:{_AS_AI})?(?:but |so )?(?:"
    rf"{_CANNOT}{_BETWEEN} {_VERB}\b"
    r"|i(?:['’]ll| will)? (?:(?:must|have to|need to) )?decline\b"
    rf"|i(?:['’]m not| am not| don['’]t feel| do not feel) comfortable {_DOING}\b"
    r"|th(?:at|is)(?:['’]s not| is not| isn['’]t) something (?:that )?i(?:['’]m| am)? "
    rf"(?:can|will|able to|comfortable) {_VERB}\b)",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    rf"\W*(?:{_FIRST})?{_CANNOT} (?:help|assist|comply)(?: you)?"
    r"(?: with)? (?:th(?:at|is)|it|your)(?: request| question| task)?[.!]",
    re.IGNORECASE,
)


def refuses(text: str) -> bool:
    """Say whether a text is a refusal and nothing else: it is short and begins as refusals do.

    Example:
        *I'm sorry, but I can't help with that.*
    """
    if len(text) <= _LONGEST and _REFUSAL.match(text):
        return True
    return len(text) <= _LONGEST_PLAIN and _PLAIN.match(text) is not None


_FENCES: dict[OutputKind, tuple[str, ...]] = {
    "json": ("json", ""),
    "python": ("python", "py", "python3", ""),
    "shell": ("sh", "bash", "shell", ""),
    "patch": ("diff", "patch", ""),
}
_BLOCK = re.compile(
    r"^[ \t]*+```[ \t]*+(\w*+)[^\n]*+\n(.*?)(?:^[ \t]*+```|\Z)", re.DOTALL | re.MULTILINE
)
_FENCE_LINE = re.compile(r"^[ \t]*+```[^\n]*+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Extraction:
    """An artifact, and the rule by which it was found."""

    artifact: str
    rule: str


def extract(text: str, kind: OutputKind, *, reasoning: str = "") -> Extraction:
    """Find the artifact of that kind.

    Text and files stand as they were written, and so do JSON and Python that parse as a whole. Else
    it is the first fenced block of the language, the first without a language, the JSON that stands
    within a text, the whole text. A block that is never closed ends with the text; one that is
    never opened begins with it.

    Args:
        text: What a model wrote, without its reasoning.
        kind: What it has to be.
        reasoning: The mark of reasoning that stood before it; the rule says so.
    """
    found = _extracted(text, kind)
    if not reasoning:
        return found
    return Extraction(found.artifact, f"{found.rule}, behind reasoning that began with {reasoning}")


def _extracted(text: str, kind: OutputKind) -> Extraction:
    if kind not in _FENCES:
        return Extraction(text, "whole text")
    if (kind == "json" and is_json(text)) or (kind == "python" and _is_python(text)):
        return Extraction(text, "whole text, which parses")
    if (unopened := _unopened(text, kind)) is not None:
        return Extraction(unopened, "text before a fence that closes nothing")
    blocks = {language.lower(): body for language, body in reversed(_BLOCK.findall(text))}
    for language in _FENCES[kind]:
        if language in blocks:
            rule = f"first {language} block" if language else "first block without a language"
            return Extraction(blocks[language].strip("\n"), rule)
    if kind == "json" and (found := _within(text)):
        return found
    return Extraction(text, "whole text, for want of a block")


def _within(text: str) -> Extraction | None:
    """Return the JSON in a text: its only object; of several the last, and lists without objects.

    What comes last is what the rest led to. An empty one, and a list of numbers as citations are,
    count only where there is nothing else.
    """
    found = find_json(text)
    telling = [each for each in found if _is_object(each.value) and each.value]
    telling = telling or [each for each in found if _tells(each)] or found
    if not telling:
        return None
    last = telling[-1]
    rule = "the only JSON within the text" if len(telling) == 1 else "last JSON within the text"
    return Extraction(text[last.start : last.end], rule)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _tells(found: FoundJson) -> bool:
    items: Any = found.value
    return bool(items) and not all(isinstance(item, int) for item in items)


def _unopened(text: str, kind: OutputKind) -> str | None:
    """Return the code before the only fence, where that can only be a closing one."""
    fences = _FENCE_LINE.findall(text)
    if len(fences) != 1 or fences[0].strip() != "```":
        return None
    before, _, after = text.partition(fences[0])
    before = before.strip("\n")
    is_code = {"json": is_json, "python": _is_python, "shell": _is_script}[kind]
    return before if before and (is_code(before) or not after.strip()) else None


def _is_script(text: str) -> bool:
    return text.startswith("#!")


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            # Such as an escape that Python doesn't know: running it will show that.
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    # A single word parses too; a program does something.
    return any(not isinstance(node, ast.Expr) for node in tree.body)
