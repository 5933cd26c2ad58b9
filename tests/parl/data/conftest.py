"""Pattern files written where a test can read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from prefect_swarm.parl.data.generate import Corpus, read_corpus
from prefect_swarm.parl.data.pattern import Pattern

WORDS = """
[pets]
the cat
the dog
an owl

[towns: name, land]
Bonn :: Germany
Riga :: Latvia

[languages]
Greek
Finnish
"""

ReadCorpus = Callable[..., Corpus]
ReadPattern = Callable[..., Pattern]


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> ReadCorpus:
    """Read a corpus of one pattern file and one word file."""

    def read(patterns: str, words: str = WORDS) -> Corpus:
        folder = tmp_path_factory.mktemp("corpus")
        for kind, text in (("patterns", patterns), ("words", words)):
            (folder / kind).mkdir()
            (folder / kind / "some.txt").write_text(text, encoding="utf-8")
        return read_corpus(folder)

    return read


@pytest.fixture(scope="session")
def pattern(read: ReadCorpus) -> ReadPattern:
    """Read the one pattern of a text that breaks no rule; `kind` and an `ask` may be left out."""

    def pattern(text: str, words: str = WORDS) -> Pattern:
        lines = list(filter(None, text.splitlines()))
        words_of = {line.split()[0] for line in lines}
        block = [*["kind some"] * ("kind" not in words_of), *lines]
        block += ["ask Do it"] * ("ask" not in words_of)
        block += ["step only = Worker: Do it all"] * ("step" not in words_of)
        corpus = read("\n".join(block), words)
        assert corpus.errors == ()
        (found,) = corpus.patterns
        return found

    return pattern


@pytest.fixture(scope="session")
def sample() -> Corpus:
    """The corpus beside these tests."""
    return read_corpus(Path(__file__).with_name("sample"))
