"""Other wordings: words that people mistype, spell in two ways or abbreviate, and imperatives."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from ..generating.marked import MARK, MarkedText, SlotText

__all__ = [
    "ABBREVIATIONS",
    "COMMON_WORDS",
    "DETERMINERS",
    "IMPERATIVES",
    "NOUNS",
    "OTHER_SPELLING",
    "lower_case",
    "mistype",
    "shorten",
    "shout",
    "swap_spelling",
]


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
