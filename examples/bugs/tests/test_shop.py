"""What the shop has to do."""

from shop import dates, mail, prices, stock


def test_it_is_open_on_saturday() -> None:
    assert dates.is_open(5)


def test_it_is_shut_on_sunday() -> None:
    assert not dates.is_open(6)


def test_a_letter_greets_by_name() -> None:
    assert mail.greeting("Ada") == "Dear Ada,"


def test_every_price_counts() -> None:
    assert prices.total([1.0, 2.0]) == 3.0


def test_nothing_costs_nothing() -> None:
    assert prices.total([]) == 0


def test_what_is_missing_is_ordered() -> None:
    assert stock.missing(5, 2) == 3


def test_nothing_is_ordered_where_there_is_enough() -> None:
    assert stock.missing(2, 5) == 0
