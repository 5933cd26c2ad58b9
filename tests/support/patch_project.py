"""A small project with a bug that a test shows: what edits of the corpus change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["BASE", "FAILING", "data_of", "write_base"]

FAILING = "tests/test_prices.py::test_ten_pieces_are_cheaper"
"""The one test that fails before the bug is fixed."""


PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "shop"
version = "1.2.0"
requires-python = ">=3.11"
dependencies = []

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["src"]
addopts = "--strict-markers"

[tool.ruff]
line-length = 100
target-version = "py311"

[tool.ruff.lint]
select = ["E", "F", "B"]
"""

INIT = '''\
"""A shop: prices, stock, orders and delivery."""

from shop.prices import total

__all__ = ["total"]
'''

PRICES = '''\
"""What an order costs, in cents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

MANY = 10
DISCOUNT = 0.1
FREE_DELIVERY = 5_000
DELIVERY = 490


@dataclass(frozen=True)
class Line:
    """A line of an order."""

    article: str
    quantity: int
    price: int


def line_total(line: Line) -> int:
    """Return what a line costs; many pieces are cheaper."""
    if line.quantity < 1:
        raise ValueError(f"{line.article}: {line.quantity} pieces can't be ordered")
    whole = line.quantity * line.price
    if line.quantity > MANY:
        whole -= round(whole * DISCOUNT)
    return whole


def total(lines: Iterable[Line]) -> int:
    """Return what an order costs, with its delivery."""
    goods = sum(line_total(line) for line in lines)
    return goods if goods >= FREE_DELIVERY else goods + DELIVERY


def in_euros(cents: int) -> str:
    """Write an amount as people read it."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100},{abs(cents) % 100:02} €"


def old_total(lines: Iterable[Line]) -> int:
    """Return what an order cost before there was a delivery to pay."""
    return sum(line.quantity * line.price for line in lines)
'''

STOCK = '''\
"""What is in the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from shop.prices import Line


class OutOfStock(Exception):
    """There are fewer pieces than were ordered."""


class Stock:
    """Pieces of each article."""

    def __init__(self, pieces: dict[str, int] | None = None) -> None:
        self._pieces = Counter(pieces or {})

    def __getitem__(self, article: str) -> int:
        return self._pieces[article]

    def add(self, article: str, quantity: int) -> None:
        """Put pieces into the store."""
        if quantity < 0:
            raise ValueError("A negative quantity can't be added")
        self._pieces[article] += quantity

    def take(self, lines: Iterable[Line]) -> None:
        """Take all that was ordered, or nothing."""
        wanted: Counter[str] = Counter()
        for line in lines:
            wanted[line.article] += line.quantity
        missing = [name for name, count in wanted.items() if self._pieces[name] < count]
        if missing:
            raise OutOfStock(", ".join(sorted(missing)))
        self._pieces -= wanted

    def low(self, fewest: int = 5) -> list[str]:
        """Return the articles of which few pieces are left."""
        return sorted(name for name, count in self._pieces.items() if count < fewest)
'''

PARSING = '''\
"""Orders as text: one line of `article;quantity;price` each."""

from __future__ import annotations

from shop.prices import Line


class BadOrder(ValueError):
    """A line that can't be read; says which."""


def parse_line(text: str, number: int = 1) -> Line:
    """Read one line of an order."""
    fields = [field.strip() for field in text.split(";")]
    if len(fields) != 3:
        raise BadOrder(f"line {number}: 3 fields are needed, not {len(fields)}")
    article, quantity, price = fields
    if not article:
        raise BadOrder(f"line {number}: the article is missing")
    try:
        return Line(article, int(quantity), cents(price))
    except ValueError as error:
        raise BadOrder(f"line {number}: {error}") from None


def cents(text: str) -> int:
    """Read an amount such as `4,90`."""
    whole, _, rest = text.replace(".", ",").partition(",")
    if len(rest) > 2:
        raise ValueError(f"{text!r} is no amount")
    return int(whole) * 100 + int(rest.ljust(2, "0"))


def parse_order(text: str) -> list[Line]:
    """Read an order; empty lines and comments count for nothing."""
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.startswith("#")
    ]
    return [parse_line(line, number) for number, line in lines]
'''

DATES = '''\
"""When an order arrives."""

from __future__ import annotations

from datetime import date, timedelta

HOLIDAYS = frozenset({(1, 1), (5, 1), (12, 25), (12, 26)})
"""Months and days on which nobody works."""


def is_workday(day: date) -> bool:
    """Say whether anybody works that day."""
    return day.weekday() < 5 and (day.month, day.day) not in HOLIDAYS


def delivery(ordered: date, workdays: int = 2) -> date:
    """Return the day on which an order arrives."""
    day = ordered
    while workdays > 0:
        day += timedelta(days=1)
        workdays -= is_workday(day)
    return day


def weeks_between(first: date, last: date) -> int:
    """Return how many whole weeks lie between two days."""
    if last < first:
        raise ValueError("The last day is before the first")
    return (last - first).days // 7
'''

CONFTEST = '''\
"""What several tests need."""

from pathlib import Path

import pytest

from shop.stock import Stock


@pytest.fixture
def stock() -> Stock:
    return Stock({"cup": 12, "plate": 3})


@pytest.fixture
def order_text() -> str:
    return (Path(__file__).parent / "data" / "order.csv").read_text("utf-8")
'''

TEST_PRICES = '''\
"""Prices of lines and orders."""

import pytest

from shop.prices import Line, in_euros, line_total, total

CUP = Line("cup", 2, 450)


def test_a_line_costs_its_pieces() -> None:
    assert line_total(CUP) == 900


def test_ten_pieces_are_cheaper() -> None:
    assert line_total(Line("cup", 10, 450)) == 4050


@pytest.mark.parametrize(
    ("cents", "written"),
    [(0, "0,00 €"), (490, "4,90 €"), (-5, "-0,05 €"), (123456, "1234,56 €")],
)
def test_an_amount_is_written_in_euros(cents: int, written: str) -> None:
    assert in_euros(cents) == written


def test_a_small_order_pays_its_delivery() -> None:
    assert total([CUP]) == 1390


def test_a_large_order_is_delivered_for_nothing() -> None:
    assert total([Line("lamp", 1, 5000)]) == 5000


def test_nothing_can_be_no_pieces() -> None:
    with pytest.raises(ValueError, match="can't be ordered"):
        line_total(Line("cup", 0, 450))
'''

TEST_STOCK = '''\
"""What is taken from the store, and what is left."""

import pytest

from shop.prices import Line
from shop.stock import OutOfStock, Stock


class TestTaking:
    def test_what_is_taken_is_gone(self, stock: Stock) -> None:
        stock.take([Line("cup", 2, 450)])
        assert stock["cup"] == 10

    def test_nothing_is_taken_if_something_is_missing(self, stock: Stock) -> None:
        with pytest.raises(OutOfStock, match="plate"):
            stock.take([Line("cup", 2, 450), Line("plate", 4, 600)])
        assert stock["cup"] == 12


def test_articles_run_low(stock: Stock) -> None:
    assert stock.low() == ["plate"]
'''

TEST_PARSING = '''\
"""Orders that are read from text."""

import unittest

import pytest

from shop.parsing import BadOrder, cents, parse_line, parse_order
from shop.prices import Line


def test_an_order_is_read(order_text: str) -> None:
    lines = parse_order(order_text)
    assert lines == [Line("cup", 2, 450), Line("plate", 1, 600)]


class Amounts(unittest.TestCase):
    def test_an_amount_has_cents(self) -> None:
        self.assertEqual(cents("4,90"), 490)
        self.assertEqual(cents("4.9"), 490)

    def test_an_amount_without_cents(self) -> None:
        self.assertEqual(cents("4"), 400)


def test_a_bad_line_is_named() -> None:
    with pytest.raises(BadOrder, match="line 7: 3 fields"):
        parse_line("cup;2", 7)
'''

TEST_DATES = '''\
"""Days on which orders arrive."""

from datetime import date

from shop.dates import delivery, weeks_between


def test_nobody_delivers_at_the_weekend() -> None:
    assert delivery(date(2026, 3, 6)) == date(2026, 3, 10)


def test_nobody_delivers_on_a_holiday() -> None:
    assert delivery(date(2026, 12, 23)) == date(2026, 12, 28)


def test_weeks_are_whole() -> None:
    assert weeks_between(date(2026, 3, 2), date(2026, 3, 15)) == 1
'''

README = """\
# Shop

Prices, stock and delivery of a small shop. `total` returns what an order costs, in cents.
"""

BASE: Mapping[str, str | bytes] = {
    ".gitignore": "__pycache__/\n.pytest_cache/\n.ruff_cache/\n*.egg-info/\n",
    "README.md": README,
    "pyproject.toml": PYPROJECT,
    "docs/letter.txt": "Für unsere Kunden: die Preise gelten ab Mai.\n".encode("latin-1"),
    "docs/terms.txt": b"1. Pay at once.\r\n2. Cups can be returned.\r\n",
    "src/shop/__init__.py": INIT,
    "src/shop/dates.py": DATES,
    "src/shop/parsing.py": PARSING,
    "src/shop/prices.py": PRICES,
    "src/shop/stock.py": STOCK,
    "tests/conftest.py": CONFTEST,
    "tests/data/order.csv": "# article;quantity;price\ncup;2;4,50\n\nplate;1;6,00\n",
    "tests/test_dates.py": TEST_DATES,
    "tests/test_parsing.py": TEST_PARSING,
    "tests/test_prices.py": TEST_PRICES,
    "tests/test_stock.py": TEST_STOCK,
}
"""The project's files."""


def write_base(folder: Path) -> None:
    """Write the project into a folder."""
    for path, content in BASE.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data_of(content))


def data_of(content: str | bytes) -> bytes:
    """Return what a file holds."""
    return content if isinstance(content, bytes) else content.encode()
