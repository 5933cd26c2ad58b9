"""What a text is about: its words without the small ones, in a form that compares. Pure."""

from __future__ import annotations

import re

__all__ = [
    "TASK",
    "content",
    "every_token",
    "is_request",
    "tokens",
    "words",
]


_TOKEN = re.compile(r"\w+(?:[._'-]\w+)*")
_SMALL = frozenset(
    """a about all also am an and any are as at be been both but by can cheers could d did do does
    don done each every for from get give go had has have hello here hi how i if in into is it its
    just know let like ll m make may me more my need no not now of off on once one or our out over
    per please pls re s say should so some t than thank thanks that the their them then there these
    they this those thx to too u up us use ve want wanted was way we were what when where which who
    whose why will with would you your""".split()  # noqa: SIM905 (a list of one word a line)
)
_WORK = """add adapt advise analyse analyze answer argue argument assess award build calculate
    carry change check choose chosen collect combine compare compile conclude consider cook correct
    count cover covering create decide decision define describe design determine develop difference
    discuss divide draft draw edit error estimate evaluate examine explain explore export extract
    fact fill find finding fix found function gather identify illustrate implement improve inspect
    introduce invent investigate join joined judge judgement keep list look made measure merge
    merged name note opinion outline overall part pick plan port prepare present print produce
    propose put question rank rate rating read recommend refactor report research result review
    rewrite rework say saying score search select send sentence show sketch solve sort state
    statement study suggest sum summarise summarize table tabulate take tell test text think total
    translate true try turn verify version view weigh whether work write written""".split()  # noqa: SIM905
_REQUEST = re.compile(
    r"\?|\b(?:at most|can|could|has|have to|looking|may|must|need|no|not|only|please|pls|required"
    r"|should|want|wanted|without|would)\b",
    re.IGNORECASE,
)


def every_token(text: str) -> list[str]:
    """Return a text's words as they stand, in order; the first, whose capital says nothing, low."""
    found = _TOKEN.findall(text)
    return [word if n else word.casefold() for n, word in enumerate(found)]


def tokens(text: str) -> frozenset[str]:
    """Return a text's words as they stand, in lower case."""
    return frozenset(_TOKEN.findall(text.casefold()))


def content(text: str) -> list[str]:
    """Return a text's words in order, without the small ones, cut to a common beginning.

    `Comparing` and `compared` are the same word; a name such as `parse_date.py` stays whole.
    """
    found = _TOKEN.findall(text.casefold().replace("’", "'"))
    bare = (word.removesuffix("'s") for word in found)
    return [_cut(word) for word in bare if word.partition("'")[0] not in _SMALL]


def words(text: str) -> frozenset[str]:
    """Return what a text is about."""
    return frozenset(content(text))


def is_request(sentence: str) -> bool:
    """Say whether a sentence asks for something or says how it has to be."""
    return _REQUEST.search(sentence) is not None or not TASK.isdisjoint(content(sentence))


def _cut(word: str) -> str:
    if not word.isalpha():
        return word
    return (word[:-1] if word.endswith("s") and len(word) > 3 else word)[:6]


TASK = frozenset(map(_cut, _WORK))
"""Words for work and what comes of it: a plan says them though its objective doesn't."""
