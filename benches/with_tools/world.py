"""Works and their reports: a table of facts, spread over documents among many that mislead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

__all__ = ["ATTRIBUTES", "DOCUMENTS", "ENTITIES", "LATEST", "World", "make_world", "sentence"]

ENTITIES = 40
DOCUMENTS = 500
LATEST = 2025
ATTRIBUTES = {
    "staff": ("employees", "employed people at the end of"),
    "output": ("produced tonnes", "delivered tonnes in"),
    "founded": ("founding year", "was founded in"),
}
"""What is asked of each of the works, and the words that a reader looks for it by, in turns."""

_FIRST = ("Kar", "Bel", "Dor", "Fen", "Gal", "Hol", "Jor", "Lin", "Mer", "Nor")
_SECOND = ("vel", "mont", "wick", "stad", "brook", "field", "gate", "haven")
_KINDS = ("Works", "Mills", "Foundry", "Quarry", "Dairy")
_STALE = 60
_FILLERS = (
    "The district council met twice in spring and left the road as it is.",
    "Visitors come by the northern line; the last train leaves at nine.",
    "The canteen was painted, and a new boiler heats the eastern halls.",
    "Weather was mild, so that deliveries came without much delay.",
    "A choir of the region sang at the summer fair, as every year.",
    "Prices of timber and coal moved little over the year.",
    "The archive was moved to the upper floor and put in order.",
    "A survey of the river bank found nothing that has to be mended.",
)


@dataclass(frozen=True, slots=True)
class World:
    """A table, and documents by their names.

    Attributes:
        cells: The right values, by entity and attribute.
    """

    entities: tuple[str, ...]
    cells: dict[tuple[str, str], str]
    documents: dict[str, str]

    def write(self, folder: Path) -> None:
        """Write the documents into a folder."""
        for name, text in self.documents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def make_world(seed: int) -> World:
    """Return the world of a seed.

    120 documents have a value of the table; 60 have an older value of one; others have values of
    works with similar names, or speak of the table's works without a value.
    """
    rng = Random(seed)
    entities, others = _names(rng)
    cells = {(entity, name): _value(rng, name) for entity in entities for name in ATTRIBUTES}
    texts = [sentence(rng, entity, name, cells[entity, name]) for entity, name in cells]
    dated = [cell for cell in cells if cell[1] != "founded"]
    for entity, name in rng.sample(dated, _STALE):
        texts.append(sentence(rng, entity, name, _value(rng, name), LATEST - rng.randint(1, 4)))
    while len(texts) < DOCUMENTS:
        texts.append(_distractor(rng, entities, others))
    rng.shuffle(texts)
    documents = {f"reports/{n:03}.txt": _document(rng, text) for n, text in enumerate(texts, 1)}
    return World(entities, cells, documents)


def sentence(rng: Random, entity: str, name: str, value: str, year: int = LATEST) -> str:
    """Say a value in one of the forms that reports have."""
    forms = {
        "staff": (
            f"At the end of {year}, {entity} had {value} employees.",
            f"{entity} employed {value} people at the end of {year}.",
        ),
        "output": (
            f"In {year}, {entity} produced {value} tonnes.",
            f"{entity} delivered {value} tonnes in {year}.",
        ),
        "founded": (
            f"{entity} was founded in {value}.",
            f"The founding year of {entity} is {value}.",
        ),
    }
    return rng.choice(forms[name])


def _names(rng: Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the table's works, and others that share a word with them."""
    stems = [first + second for first in _FIRST for second in _SECOND]
    rng.shuffle(stems)
    entities = tuple(f"{stem} {rng.choice(_KINDS)}" for stem in stems[:ENTITIES])
    others = [f"{entity.split()[0]} {kind}" for entity in entities for kind in _KINDS]
    return entities, tuple(name for name in others if name not in entities)


def _value(rng: Random, name: str) -> str:
    ranges = {"staff": (20, 9_000), "output": (100, 90_000), "founded": (1801, 1990)}
    return str(rng.randint(*ranges[name]))


def _distractor(rng: Random, entities: tuple[str, ...], others: tuple[str, ...]) -> str:
    if rng.random() < 0.6:
        name = rng.choice([*ATTRIBUTES])
        return sentence(rng, rng.choice(others), name, _value(rng, name))
    entity = rng.choice(entities)
    about = rng.choice(["employees", "tonnes", "founding"])
    return f"The report on {entity} says nothing of its {about}; see the yearly figures."


def _document(rng: Random, text: str) -> str:
    """Put a sentence among paragraphs that say nothing of it."""
    paragraphs = [" ".join(rng.choices(_FILLERS, k=4)) for _ in range(rng.randint(2, 5))]
    place = rng.randrange(len(paragraphs))
    paragraphs[place] = f"{paragraphs[place]} {text}"
    return "\n\n".join(_lines(paragraphs)) + "\n"


def _lines(paragraphs: list[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield paragraph.replace(". ", ".\n")
