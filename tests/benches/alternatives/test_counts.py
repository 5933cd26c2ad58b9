from __future__ import annotations

from alternatives.counts import count_lines, paid_twice, under_way
from alternatives.scripted import Request


def test_empty_lines_and_comments_alone_are_not_counted() -> None:
    assert count_lines(["# a\n\nx = 1  # b\n", "  y\n \n"]) == 2


def test_what_was_answered_before_the_kill_and_asked_again_is_paid_twice() -> None:
    requests = [
        _request("research 1", 0.0, 1.0),
        _request("research 2", 0.0, 2.0),
        _request("research 3", 0.0, None),
        _request("research 1", 5.0, 6.0),
        _request("research 3", 5.0, 6.0),
        _request("join", 6.0, 7.0),
    ]
    assert paid_twice(requests, 3.0) == 1


def test_what_is_asked_twice_before_the_kill_is_not_paid_twice() -> None:
    requests = [_request("item cedar", 0.0, 1.0), _request("item cedar", 1.0, 2.0)]
    assert paid_twice(requests, 3.0) == 0


def test_requests_without_an_answer_at_the_kill_are_under_way() -> None:
    requests = [
        _request("research 1", 0.0, 1.0),
        _request("research 2", 0.0, 4.0),
        _request("research 3", 0.0, None),
        _request("research 2", 5.0, 6.0),
    ]
    assert under_way(requests, 3.0) == 2


def _request(key: str, asked_s: float, answered_s: float | None) -> Request:
    return Request(key, asked_s, answered_s, bad_input=False)
