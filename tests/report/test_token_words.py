"""The line of figures says which tokens nobody counted."""

from __future__ import annotations

import pytest
from prefect_swarm.report.lines import token_words
from prefect_swarm.store.attempt import Usage
from prefect_swarm.store.result import Cost


@pytest.mark.parametrize(
    ("estimated", "words"),
    [(0, "30 tokens"), (1, "30 tokens (some estimated)"), (2, "30 tokens (estimated)")],
)
def test_tokens_that_are_estimated_are_marked(estimated: int, words: str) -> None:
    usage = Usage(requests=2, input_tokens=10, output_tokens=20, estimated=estimated)
    assert token_words(Cost.of(usage)) == words


def test_estimated_requests_are_summed() -> None:
    taken = Usage(requests=1, estimated=1) + Usage(requests=1) + Usage(requests=1, estimated=1)
    assert (taken.requests, taken.estimated) == (3, 2)
