"""What an answer shows before any gate: that it is cut off, bound to fail, or a refusal. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ...task_ir import OutputKind

__all__ = ["GO_ON", "abort_reason", "cut_mark", "joined", "refuses", "resume_point", "watch"]


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


def joined(begun: str, continued: str) -> str:
    """Return a text and its continuation as one; what the second repeats of the first's end goes.

    A model that goes on says the last words once more, begins with a blank of its own, or opens the
    block of code again that it is in.
    """
    if len(_FENCE.findall(begun)) % 2 and (opened := _OPENED_AGAIN.match(continued)):
        continued = continued[opened.end() :]
    if begun[-1:].isspace():
        continued = continued.lstrip(" ") if begun[-1] == " " else continued.removeprefix("\n")
    most = min(len(begun), len(continued), _OVERLAP)
    for length in range(most, _LEAST_OVERLAP - 1, -1):
        if begun.endswith(continued[:length]):
            return begun + continued[length:]
    return begun + continued


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

    It is if it ends in six rounds of the same words, in eight of the same line (24 of code), in 200
    blanks, if it opens 24 brackets within one another by the same word, or if the first block it
    opens is of another language than is asked for.
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
    return ""


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
