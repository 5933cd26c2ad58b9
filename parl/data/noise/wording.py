"""Word lists: words that people mistype, spell in two ways, or abbreviate."""

from __future__ import annotations

from .imperatives import IMPERATIVES

__all__ = ["ABBREVIATIONS", "COMMON_WORDS", "OTHER_SPELLING"]

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
