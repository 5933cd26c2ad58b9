"""Invented works, people and towns, and the pages that speak of them: a corpus of a seed.

A fact stands on one page among others: works have a profile, yearly reports of several years,
pages on who directs them, and sometimes a correction of a report. So values contradict each
other, and the newest counts. Who directs works is born in a town, and a town lies on a river:
these pages can be looked for only after the one before was read. Some values stand nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

__all__ = ["LATEST", "Page", "World", "make_world"]

LATEST = 2025
SIZES = {"foundries": (40, 14, 6), "dairies": (40, 16, 8), "quarries": (18, 12, 6)}
"""Of each trade, how many works each of the districts has."""
DISTRICTS = ("Ostmark", "Vesterland", "Sundal")
TRADES = {"foundries": "Foundry", "dairies": "Dairy", "quarries": "Quarry"}
TOWNS, RIVERS, OTHERS = 60, 24, 1_800
PART = 10
"""Names on a page of a register."""

_FIRST = ("Kar", "Bel", "Dor", "Fen", "Gal", "Hol", "Jor", "Lin", "Mer", "Nor", "Ul", "Tam", "Ver")
_SECOND = ("vel", "mont", "wick", "stad", "brook", "field", "gate", "haven", "rud", "sund", "tal")
_GIVEN = ("Ilsa", "Maren", "Tove", "Anselm", "Odo", "Birk", "Runa", "Sverre", "Thea", "Lasse")
_FAMILY = ("Brem", "Hald", "Krog", "Lund", "Moe", "Rask", "Stig", "Tveit", "Vang", "Winter")
_ENDS = ("er", "sen", "by", "dal", "vik", "holm", "rup", "lie")
_FILLERS = (
    "The council met twice in spring and left the road as it is.",
    "Visitors come by the northern line; the last train leaves at nine.",
    "The canteen was painted, and a new boiler heats the eastern halls.",
    "Weather was mild, so that deliveries came without much delay.",
    "A choir of the region sang at the summer fair, as every year.",
    "Prices of timber and coal moved little over the year.",
    "The archive was moved to the upper floor and put in order.",
    "A survey of the bank found nothing that has to be mended.",
    "Two apprentices won a prize for a model of the old hoist.",
    "The gate on the southern side is open on working days alone.",
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class World:
    """What is so, and what is written of it.

    Attributes:
        lists: Names of the works, by trade and district.
        facts: What is so by name and attribute; what stands nowhere is missing.
        pages: The pages, in no order.
    """

    lists: dict[tuple[str, str], tuple[str, ...]]
    facts: dict[tuple[str, str], str]
    pages: tuple[Page, ...]


class _Writer:
    """Writes pages, and notes what holds in the end."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.facts: dict[tuple[str, str], str] = {}
        self.pages: list[tuple[str, str]] = []

    def write(self, title: str, *sentences: str) -> None:
        """Put sentences among others that say nothing of them."""
        fillers: list[str] = self.rng.choices(_FILLERS, k=self.rng.randint(8, 14))
        for sentence in sentences:
            fillers.insert(self.rng.randint(1, len(fillers)), sentence)
        self.pages.append((title, " ".join(fillers)))


def make_world(seed: int) -> World:
    """Return the world of a seed."""
    writer = _Writer(Random(seed))
    towns = _write_towns(writer)
    people = _write_people(writer, towns)
    names = _stems(writer.rng)
    lists: dict[tuple[str, str], tuple[str, ...]] = {}
    for trade, kind in TRADES.items():
        for district, size in zip(DISTRICTS, SIZES[trade], strict=True):
            works = tuple(f"{next(names)} {kind}" for _ in range(size))
            lists[trade, district] = works
            _write_registers(writer, trade, district, works)
            for name in works:
                _write_works(writer, name, towns, people)
    _write_yearbooks(writer, lists)
    _write_others(writer, [name for works in lists.values() for name in works])
    writer.rng.shuffle(writer.pages)
    pages = tuple(Page(f"p{n:04}", *page) for n, page in enumerate(writer.pages, 1))
    return World(lists, writer.facts, pages)


def _stems(rng: Random) -> Iterator[str]:
    stems = [f"{a}{b}{c}" for a in _FIRST for b in _SECOND for c in ("", "en", "by")]
    rng.shuffle(stems)
    return iter(stems)


def _write_towns(writer: _Writer) -> list[str]:
    rng = writer.rng
    rivers = [f"{name}å" for name in rng.sample([a + b for a in _FIRST for b in _ENDS], RIVERS)]
    towns = rng.sample([f"{a.title()}{b}" for a in _SECOND for b in (*_ENDS, "ness")], TOWNS)
    for town in towns:
        river, people = rng.choice(rivers), rng.randint(900, 90_000)
        writer.facts[town, "river"] = river
        writer.write(f"{town}: town guide", f"{town} lies on the {river}.")
        writer.facts[town, "population"] = str(people)
        for year in (LATEST - 10, LATEST - 5):
            writer.write(
                f"{town}: census {year}",
                f"{town} had {rng.randint(900, 90_000)} inhabitants in {year}.",
            )
        writer.write(f"{town}: census {LATEST}", f"{town} had {people} inhabitants in {LATEST}.")
    return towns


def _write_people(writer: _Writer, towns: Sequence[str]) -> Iterator[str]:
    """Return people of whom each is asked for once; their pages are written by then."""
    rng = writer.rng
    names = [f"{a} {b}{c}" for a in _GIVEN for b in _FAMILY for c in _ENDS]
    rng.shuffle(names)
    for name in names:
        town, year = rng.choice(towns), rng.randint(1940, 1990)
        writer.facts[name, "birthplace"] = town
        writer.facts[name, "born"] = str(year)
        writer.write(f"{name}: life", f"{name} was born in {year} in {town}.")
        yield name


def _write_registers(writer: _Writer, trade: str, district: str, works: Sequence[str]) -> None:
    parts = [works[n : n + PART] for n in range(0, len(works), PART)]
    for number, part in enumerate(parts, 1):
        writer.write(
            f"Register of {trade} in {district}, part {number} of {len(parts)}",
            f"Entered are: {'; '.join(part)}.",
        )


def _write_works(writer: _Writer, name: str, towns: Sequence[str], people: Iterator[str]) -> None:
    rng, facts = writer.rng, writer.facts
    profile: list[str] = []
    if rng.random() < 0.95:
        facts[name, "founded"] = str(rng.randint(1801, 1990))
        profile.append(f"{name} was founded in {facts[name, 'founded']}.")
    if rng.random() < 0.95:
        facts[name, "town"] = rng.choice(towns)
        profile.append(f"{name} stands in {facts[name, 'town']}.")
    writer.write(f"{name}: profile", *profile)
    _write_reports(writer, name)
    heads = [next(people) for _ in range(rng.choice((1, 1, 2)))]
    for head, since in zip(reversed(heads), (2018, 2006), strict=False):
        writer.write(f"{name}: directors, {since}", f"Since {since} {name} is directed by {head}.")
    facts[name, "head"] = heads[-1]


def _write_reports(writer: _Writer, name: str) -> None:
    """Write reports of some years; a year's correction comes after its report."""
    rng, facts = writer.rng, writer.facts
    newest = rng.choice((LATEST, LATEST, LATEST - 1))
    for year in (newest - rng.randint(2, 3), newest):
        staff, tonnes = rng.randint(20, 9_000), rng.randint(100, 90_000)
        facts[name, "employees"], facts[name, "tonnes"] = str(staff), str(tonnes)
        said = [f"At the end of {year}, {name} had {staff} employees."]
        if rng.random() < 0.97 or year != newest:
            said.append(f"In {year}, {name} produced {tonnes} tonnes.")
        else:
            writer.write(
                f"Notes from the trade, {rng.randint(100, 999)}",
                f"In {year}, {name} produced {tonnes} tonnes.",
            )
        writer.write(f"{name}: annual report {year}", *said)
    if rng.random() < 0.15:
        right = str(rng.randint(20, 9_000))
        before, facts[name, "employees"] = facts[name, "employees"], right
        writer.write(
            f"{name}: correction of the annual report {newest}",
            f"Corrected: at the end of {newest}, {name} had {right} employees, not {before}.",
        )


def _write_yearbooks(writer: _Writer, lists: dict[tuple[str, str], tuple[str, ...]]) -> None:
    """Write for each of the smallest lists one page that has all that is asked of it."""
    for (trade, district), works in lists.items():
        if district != DISTRICTS[-1]:
            continue
        said: list[str] = []
        for name in works:
            for attribute in ("founded", "employees"):
                writer.facts.setdefault((name, attribute), str(writer.rng.randint(1801, 1990)))
            said.append(
                f"{name}: founded {writer.facts[name, 'founded']}, "
                f"employees {writer.facts[name, 'employees']}."
            )
        writer.write(f"Yearbook {LATEST} of {trade} in {district}", *said)


def _write_others(writer: _Writer, names: Sequence[str]) -> None:
    """Write pages that mention works, or ones with similar names, and have nothing of a table."""
    rng = writer.rng
    for _ in range(OTHERS):
        name = rng.choice(names)
        stem, kind = name.split()
        other = f"{stem} {rng.choice([k for k in ('Mill', 'Brewery', 'Tannery') if k != kind])}"
        if rng.random() < 0.7:
            staff = rng.randint(20, 9_000)
            writer.write(
                f"{other}: annual report {LATEST}",
                f"At the end of {LATEST}, {other} had {staff} employees.",
            )
        else:
            writer.write(
                f"A visit to {name}, {rng.randint(100, 999)}",
                f"The report on {name} has its figures elsewhere.",
            )


def all_names(world: World) -> Iterable[str]:
    """Yield the names of all works."""
    for works in world.lists.values():
        yield from works
