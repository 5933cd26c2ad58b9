"""Other wordings: words that people mistype, spell in two ways or abbreviate, and imperatives."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = [
    "ABBREVIATIONS",
    "CHANGES",
    "COMMON_WORDS",
    "DETERMINERS",
    "IMPERATIVES",
    "JOINS",
    "LINE_JOINS",
    "MARK",
    "NOUNS",
    "OTHER_SPELLING",
    "PICKS",
    "MarkedText",
    "SlotText",
    "change",
    "has_capital",
    "lower_case",
    "mistype",
    "pick",
    "separator",
    "shorten",
    "shout",
    "swap_spelling",
    "title",
]


_BASE = 0xE000
MARK = "[\ue000-\uf8ff]"
"""Regular expression that matches a slot's mark."""

_MARKS = re.compile(MARK)
_ARTICLE = re.compile(rf"\b([Aa])n? (?={MARK})")
_SPACES = ((re.compile(r"[ \t]+"), " "), (re.compile(r" ?\n ?"), "\n"))
_BEFORE_STOP = re.compile(r" (?=[,.;:?!](?:\s|$))")
_CONSONANT_SOUND = re.compile(r"(?:uni|use|usu|u[bkrt][aeio]|eu|ewe|one\b|once\b)", re.IGNORECASE)
_MUTE_H = re.compile(r"(?:hour|honest|honou?r|heir)", re.IGNORECASE)
_INITIALISM = re.compile(r"[A-Z]{2,}(?![a-z])")


@dataclass(frozen=True, slots=True)
class SlotText:
    """A slot's text; `uncapitalised` is the same without a capital for a sentence's start."""

    text: str
    uncapitalised: str


@dataclass
class MarkedText:
    """A text with marks among its words, and the slots that the marks stand for."""

    text: str = ""
    slots: list[SlotText] = field(default_factory=list[SlotText])

    def add_slot(self, text: str, uncapitalised: str | None = None) -> None:
        """Append a slot's text."""
        self.text += chr(_BASE + len(self.slots))
        self.slots.append(SlotText(text, text if uncapitalised is None else uncapitalised))

    def slot(self, mark: str) -> SlotText:
        """Return the slot a mark stands for."""
        return self.slots[ord(mark) - _BASE]

    def plain_text(self) -> str:
        """Return the text with the slots in their places."""
        return _MARKS.sub(lambda match: self.slot(match[0]).text, self.text)

    def tidy(self) -> None:
        """Correct the spaces, `a` before a vowel and the first capital."""
        for pattern, replacement in _SPACES:
            self.text = pattern.sub(replacement, self.text)
        self.text = _BEFORE_STOP.sub("", self.text.strip())
        self.text = _ARTICLE.sub(self._article, self.text)
        if not _MARKS.match(self.text) or self._begins_with_a_plain_slot():
            self.capitalise(0)

    def _article(self, match: re.Match[str]) -> str:
        following = self.slot(self.text[match.end()]).text
        return f"{match[1]}{'n' if _starts_with_vowel_sound(following) else ''} "

    def _begins_with_a_plain_slot(self) -> bool:
        return re.match(r"[a-z]+(?:[ ,]|$)", self.slot(self.text[0]).text) is not None

    def capitalise(self, at: int) -> None:
        """Give the word at an index a capital."""
        first = self.text[at : at + 1]
        if not _MARKS.match(first):
            self.text = self.text[:at] + first.upper() + self.text[at + 1 :]
        else:
            old = self.slot(first)
            text = old.text[:1].upper() + old.text[1:]
            self.slots[ord(first) - _BASE] = SlotText(text, old.uncapitalised)


def _starts_with_vowel_sound(text: str) -> bool:
    """Say whether a text takes `an` instead of `a`."""
    word = text.lstrip("\"'“‘(")
    if _INITIALISM.match(word) and not re.match(r"[A-Z]*[AEIO][A-Z]", word[1:]):
        return word[0] in "AEFHILMNORSX"
    if _CONSONANT_SOUND.match(word):
        return False
    if word[:1].isdigit():
        return bool(re.match(r"8|1[18]\b", word))
    return word[:1].lower() in "aeiou" or bool(_MUTE_H.match(word))


_VERBS = """
    add advise analyse analyze answer argue arrange ask assess audit begin benchmark brainstorm
    build calculate capture categorise categorize check choose cite clarify classify clean code
    collect comment compare compile complete compose compute condense consider contrast convert
    copy correct count create critique cut debate debug decide define delete describe design
    detect determine develop diagnose discuss document double double-check draft draw edit
    elaborate enumerate estimate evaluate examine expand explain explore extract fact-check
    figure fill filter find finish fix format gather generate get give go grade group have help
    highlight identify illustrate implement improve inspect interpret introduce invent
    investigate invite join judge label lay learn let list load look make map match measure
    merge migrate name note number open optimise optimize order organise organize outline paint
    pair paraphrase parse pick pitch plan plot polish port predict prepare present print
    prioritise prioritize produce proofread propose prove provide pull put quote rank rate read
    rebuild recommend record redesign refactor remove rename rephrase replace replan report
    research respond restate retell reverse review revise rewrite run say scan schedule score
    search select sell send set shorten show simplify size sketch solve sort spell split spot
    stage start state strip study suggest sum summarise summarize survey tabulate take teach
    tell test think time total trace track transcribe transform translate turn type unpack
    update use validate verify vet walk weigh work write
"""

IMPERATIVES = frozenset(_VERBS.split())
"""Verbs in lower case."""

_NOUNS = """
    answer code comment cut design draft map match note order plan port report research review score
    size stage start sum survey test time total type use walk work
"""
_DETERMINERS = """
    a all an any both by each every for four how it me my on one our out that the these this those
    three two up us what whether why with
"""

NOUNS = frozenset(_NOUNS.split())
"""Imperatives that are just as often nouns; a determiner follows when they are verbs."""
DETERMINERS = frozenset(_DETERMINERS.split())
"""Words that can follow a verb."""


_FUNCTION_WORDS = """
    about after afterwards again all also and any are around because been before below best between
    both but can could does done each either every first following for from have help into know last
    like make more most much need next one only other our over please same should some than that the
    their them then there these they thing things this those through under until want what when
    where whether which while who will with without would you your
"""

COMMON_WORDS = IMPERATIVES | frozenset(_FUNCTION_WORDS.split())
"""Words in which a typo does not change the task; names, numbers and `not` are left out."""

_ISE = """
    summaris organis categoris prioritis optimis memoris apologis visualis modernis personalis
    minimis maximis standardis criticis recognis analys
"""
_ENDINGS = ("e", "ed", "es", "ing", "er", "ers")
_PAIRS = """
    colour/color colours/colors coloured/colored favourite/favorite favourites/favorites
    flavour/flavor flavours/flavors neighbour/neighbor neighbours/neighbors
    neighbourhood/neighborhood behaviour/behavior honour/honor humour/humor humorous/humorous
    labour/labor rumour/rumor harbour/harbor centre/center centres/centers theatre/theater
    theatres/theaters litre/liter litres/liters metre/meter metres/meters fibre/fiber
    travelling/traveling traveller/traveler travellers/travelers cancelled/canceled
    labelled/labeled modelling/modeling programme/program programmes/programs catalogue/catalog
    dialogue/dialog grey/gray licence/license defence/defense judgement/judgment cosy/cozy
    jewellery/jewelry mould/mold sceptical/skeptical tyre/tire tyres/tires ageing/aging
    storey/story enquiry/inquiry fulfil/fulfill skilful/skillful organisation/organization
    organisations/organizations summarisation/summarization localisation/localization
"""
_AMBIGUOUS = frozenset(
    ("storey", "story", "tire", "tires", "program", "programs", "meter", "emphases")
)
"""Words with another meaning in the other spelling."""


def _other_spelling() -> dict[str, str]:
    pairs = [(f"{stem}{end}", f"{stem[:-1]}z{end}") for stem in _ISE.split() for end in _ENDINGS]
    for pair in _PAIRS.split():
        british, _, american = pair.partition("/")
        pairs.append((british, american))
    others = dict(pairs) | {american: british for british, american in pairs}
    return {
        word: other for word, other in others.items() if word not in _AMBIGUOUS and word != other
    }


OTHER_SPELLING = _other_spelling()
"""From each word's British spelling to its American one, and the other way."""

ABBREVIATIONS = {
    "versus": "vs",
    "and": "&",
    "with": "w/",
    "without": "w/o",
    "because": "bc",
    "please": "pls",
    "you": "u",
    "your": "ur",
    "people": "ppl",
    "minutes": "mins",
    "information": "info",
    "maximum": "max",
    "approximately": "approx",
    "thanks": "thx",
    "paragraph": "para",
    "presentation": "pres",
    "documentation": "docs",
    "between": "btwn",
    "something": "sth",
    "tomorrow": "tmrw",
}
"""From words to their abbreviations."""


_UNCHANGED = rf"{MARK}|\"[^\"\n]*\"|“[^”\n]*”|`[^`\n]*`|\S*[\d_@/\\#]\S*|\w+\.\w\S*"
_WORD = re.compile(rf"(?P<unchanged>{_UNCHANGED})|(?P<word>[A-Za-z]+(?:['’-][A-Za-z]+)*)")
_SIMPLE = re.compile(r"(?:[A-Z]?[a-z'’]+|[A-Z])(?:[ -](?:[A-Z]?[a-z'’]+|[A-Z]))*")


def swap_spelling(objective: MarkedText, _rng: random.Random) -> None:
    """Swap British for American spelling, or the other way."""
    _change_words(objective, lambda word: OTHER_SPELLING.get(word, word))


def shorten(objective: MarkedText, rng: random.Random) -> None:
    """Abbreviate some words everywhere in the text."""
    candidates = sorted({word.lower() for word in _words(objective)} & ABBREVIATIONS.keys())
    if candidates:
        chosen = set(rng.sample(candidates, rng.randint(1, min(3, len(candidates)))))
        _change_words(objective, lambda word: ABBREVIATIONS[word] if word in chosen else word)


def mistype(objective: MarkedText, rng: random.Random) -> None:
    """Swap, drop or double a letter in one to three common words."""
    words = [
        match.span()
        for match in _WORD.finditer(objective.text)
        if match["word"] and len(match[0]) > 2 and match[0].lower() in COMMON_WORDS
    ]
    chosen = rng.sample(words, min(len(words), rng.choice((1, 1, 2, 3))))
    for start, end in sorted(chosen, reverse=True):
        wrong = _add_typo(objective.text[start:end], rng)
        objective.text = objective.text[:start] + wrong + objective.text[end:]


def _add_typo(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word))
    typos = [word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]]
    if at + 1 < len(word):
        typos.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    wrong = rng.choice(typos)
    # A typo that gives another common word, `then` to `the`, could change the task.
    return word if wrong.lower() in COMMON_WORDS else wrong


def shout(objective: MarkedText, rng: random.Random) -> None:
    """Write the first word or two in capitals."""
    count = rng.choice((1, 1, 2))
    pattern = rf"[A-Za-z']+(?: [A-Za-z']+){{0,{count - 1}}}(?=[\s,:])"
    if match := re.match(pattern, objective.text):
        objective.text = match[0].upper() + objective.text[match.end() :]


def lower_case(objective: MarkedText, rng: random.Random) -> None:
    """Write everything in lower case; simple names in slots only sometimes, others never."""
    _change_words(objective, str.lower, keep_case=False)
    names = rng.random() < 0.4
    objective.slots = [_lower_slot(slot, names=names) for slot in objective.slots]


def _lower_slot(slot: SlotText, *, names: bool) -> SlotText:
    simple = names and _SIMPLE.fullmatch(slot.uncapitalised)
    return SlotText(
        slot.uncapitalised.lower() if simple else slot.uncapitalised, slot.uncapitalised
    )


def _words(objective: MarkedText) -> list[str]:
    return [match["word"] for match in _WORD.finditer(objective.text) if match["word"]]


def _change_words(
    objective: MarkedText, change: Callable[[str], str], *, keep_case: bool = True
) -> None:
    """Apply `change` to every word that may change, in lower case."""

    def replace(match: re.Match[str]) -> str:
        word = match["word"]
        if not word:
            return match[0]
        new = change(word.lower())
        if not keep_case:
            return new
        if new == word.lower():
            return word
        return new[0].upper() + new[1:] if word[0].isupper() else new

    objective.text = _WORD.sub(replace, objective.text)


T = TypeVar("T")

JOINS = ("and", "or", "vs", "commas", "slash", "semicolons", "bullets", "numbered", "lines")
"""Filters that join several entries; the default is `and`."""
LINE_JOINS = ("bullets", "numbered", "lines")
"""The joins that put each entry on its own line."""
PICKS = ("first", "last", "rest", "most", "prev")
"""Filters that pick entries; `rest` is all but the first, `most` all but the last."""

_SMALL_WORDS = """
a about after an and at before by during for from in into of on or the to with
"""


def title(text: str) -> str:
    """Return a text as part of an agent's name: at most three words, each with a capital."""
    text = re.sub(r"(?<=\w)#", "sharp", text.replace("++", "pp").replace("_", " "))
    plain = unicodedata.normalize("NFKD", text)
    # Drop accents; other characters that a name can't have split words.
    plain = "".join(character for character in plain if not unicodedata.combining(character))
    parts = re.sub(r"[^A-Za-z0-9'&/.-]", " ", plain.replace("’", "'")).split()
    words = [word.strip("'-./&") for word in parts]
    words = [word for word in words if word]
    while len(words) > 1 and words[0].lower() in ("a", "an", "the"):
        words = words[1:]
    if len(words) > 3:
        main_words = [word for word in words if word.lower() not in _SMALL_WORDS.split()]
        # Without a preposition the noun is the last word.
        words = main_words[:3] if len(main_words) < len(words) else main_words[-3:]
    return " ".join(word[0].upper() + word[1:] for word in words)


CHANGES: Mapping[str, Callable[[str], str]] = {
    "quote": lambda text: f'"{text}"',
    "title": title,
    "lower": str.lower,
    "cap": lambda text: text[:1].upper() + text[1:],
}
"""Filters that change an entry's text."""


def has_capital(filters: Sequence[str], *, first: bool) -> bool:
    """Say whether `cap` applies to an entry: only the first, or each on a line of its own."""
    return "cap" in filters and (first or any(name in LINE_JOINS for name in filters))


def change(filters: Sequence[str], text: str, *, first: bool = True) -> str:
    """Return an entry's text after its filters."""
    for name in filters:
        if name in CHANGES and (name != "cap" or has_capital(filters, first=first)):
            text = CHANGES[name](text)
    return text


def pick(filters: Sequence[str], entries: tuple[T, ...], place: int | None) -> tuple[T, ...]:
    """Return the entries that a slot shows; `place` is the index if it shows a single entry."""
    name = next((name for name in filters if name in PICKS), "")
    if name == "prev" and place is not None:
        return (entries[place - 1],)
    if name:
        ends = {"first": entries[:1], "last": entries[-1:]}
        return {**ends, "rest": entries[1:], "most": entries[:-1]}[name]
    return entries if place is None else (entries[place],)


def separator(filters: Sequence[str], index: int, count: int, *, serial_comma: bool) -> str:
    """Return the text before the entry at `index`; `serial_comma` puts a comma before `and`."""
    style = next((name for name in filters if name in JOINS), "and")
    if style in LINE_JOINS:
        prefix = {"bullets": "- ", "numbered": f"{index + 1}. ", "lines": ""}[style]
        return f"\n{prefix}" if index else prefix
    if index == 0:
        return ""
    if style in ("and", "or") and index == count - 1:
        return f"{',' if serial_comma and count > 2 else ''} {style} "
    return {"vs": " vs ", "slash": "/", "semicolons": "; "}.get(style, ", ")
