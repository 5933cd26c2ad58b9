"""An objective is said in many ways, and its slots stay as they are."""

from __future__ import annotations

import random
import re

import pytest
from prefect_swarm.parl.data import noise as distractors
from prefect_swarm.parl.data import noise as surroundings
from prefect_swarm.parl.data import wording as rewording
from prefect_swarm.parl.data.expand import expand, seeded_random
from prefect_swarm.parl.data.noise import NOISE_FUNCTIONS, PLAIN_SHARE, NoiseFunction, add_noise
from prefect_swarm.parl.data.wording import COMMON_WORDS, MarkedText

from .conftest import Corpus


def marked(text: str) -> MarkedText:
    """A text in which [what stands in brackets] came from a slot."""
    found = MarkedText()
    for part in re.split(r"(\[[^\]]*\])", text):
        if part.startswith("["):
            found.add_slot(part[1:-1])
        else:
            found.text += part
    return found


def noisy_texts(noise_function: NoiseFunction, text: str, seeds: int = 300) -> set[str]:
    """All that a register makes of a text over many seeds."""
    results: set[str] = set()
    for seed in range(seeds):
        found = marked(text)
        noise_function(found, seeded_random(seed))
        results.add(found.plain_text())
    return results


@pytest.mark.parametrize(
    ("noise_function", "text", "results"),
    [
        (rewording.swap_spelling, "Summarise the colour of [colour] and analyze it",
         {"Summarize the color of colour and analyse it"}),
        (rewording.swap_spelling, 'Say "colour"', {'Say "colour"'}),
        (rewording.shorten, "Do [tea and rum] and go",
         {"Do tea and rum & go"}),
        (rewording.shorten, "Walk with [a dog] or without",
         {"Walk w/ a dog or without", "Walk with a dog or w/o", "Walk w/ a dog or w/o"}),
        (rewording.shout, "Compare [a] now", {"COMPARE a now"}),
        (rewording.shout, "Compare the [a] now", {"COMPARE the a now", "COMPARE THE a now"}),
        (rewording.shout, "[Bonn] is nice", {"Bonn is nice"}),
        (rewording.lower_case, "Read [Report.PDF] in 'A.TXT' and \"Go\", I say",
         {"read Report.PDF in 'A.TXT' and \"Go\", i say"}),
        (rewording.lower_case, "Go to [New York]", {"go to New York", "go to new york"}),
        (rewording.lower_case, "Go to [NASA]", {"go to NASA"}),
        (surroundings.drop_end_mark, "Do [a].", {"Do a"}),
        (surroundings.drop_end_mark, "Do [a.b.]", {"Do a.b."}),
        (surroundings.drop_end_mark, "Do a, b, etc.", {"Do a, b, etc."}),
        (surroundings.drop_end_mark, "Wait...", {"Wait..."}),
        (surroundings.break_lines, "Do a. Then b, e.g. c. [D. E]",
         {"Do a.\nThen b, e.g. c.\nD. E", "Do a.\n\nThen b, e.g. c.\n\nD. E"}),
    ],
)  # fmt: skip
def test_a_register_says(noise_function: NoiseFunction, text: str, results: set[str]) -> None:
    assert noisy_texts(noise_function, text) == results


@pytest.mark.parametrize("text", ["Compare [a] and [b].", "Plan [a].", "Test the [a]."])
def test_politeness_goes_before_a_verb(text: str) -> None:
    results = noisy_texts(surroundings.ask_politely, text)
    assert len(results) > 30
    first = text.split()[0].lower()
    assert all(f" {first} " in result or result.endswith(", please.") for result in results)


@pytest.mark.parametrize(
    "text", ["[a] or [b]?", "Which is best?", "Test coverage of [a].", "I am [a]"]
)
def test_politeness_needs_a_verb(text: str) -> None:
    assert noisy_texts(surroundings.ask_politely, text) == {marked(text).plain_text()}


def test_a_polite_question_has_its_mark() -> None:
    results = noisy_texts(surroundings.ask_politely, "Compare [a] and [b].")
    assert "Can you compare a and b?" in results
    assert "Please compare a and b?" not in results


def test_a_slip_changes_one_letter_of_a_common_word() -> None:
    results = noisy_texts(
        rewording.mistype, '[compare] these with [those] "their" their.txt 3their zebras'
    )
    assert len(results) > 20
    for result in results:
        words = result.split()
        assert (words[0], words[3:]) == (
            "compare",
            ["those", '"their"', "their.txt", "3their", "zebras"],
        )
        assert all(
            abs(len(word) - len(old)) <= 1
            for word, old in zip(words[1:3], ("these", "with"), strict=True)
        )


def test_no_slip_makes_another_common_word() -> None:
    for result in noisy_texts(rewording.mistype, "then there than from"):
        for word, old in zip(result.split(), ("then", "there", "than", "from"), strict=True):
            assert word == old or word not in COMMON_WORDS


@pytest.mark.parametrize(
    "noise_function",
    [surroundings.add_thanks, surroundings.add_urgency, surroundings.add_small_talk],
    ids=lambda function: function.__name__,
)
def test_what_is_added_stands_apart(noise_function: NoiseFunction) -> None:
    for result in noisy_texts(noise_function, "Do these:\n- [a]\n- [b]"):
        assert "\n- a\n- b" in f"\n{result}\n"
        assert re.search(r"- b(\n|$)", result)
    for result in noisy_texts(noise_function, "Do [a]"):
        assert re.search(r"(^|[\s])Do a(?=$|[.\n]| asap| ASAP|, asap|, ASAP| - )", result), result


def test_small_talk_is_varied_and_asks_for_nothing() -> None:
    everything = (*distractors.BEFORE, *distractors.ANYWHERE, *distractors.AFTER)
    assert len(set(everything)) == len(everything) >= 120
    asks = re.compile(
        r"\b(please|make sure|must|should|only|don't use|in \w+ words)\b", re.IGNORECASE
    )
    assert [line for line in everything if asks.search(line)] == []


def test_most_objectives_stay_plain() -> None:
    rng = seeded_random(0)
    text = marked("Compare the [a] with the [b] and choose.")
    plain = sum(add_noise(text, rng) == text.plain_text() for _ in range(3000))
    assert abs(plain / 3000 - PLAIN_SHARE) < 0.03


def test_dressing_leaves_the_objective_as_it_was() -> None:
    text = marked("Compare the [A] with the [B].")
    before = (text.text, list(text.slots))
    for seed in range(50):
        add_noise(text, seeded_random(seed))
    assert (text.text, text.slots) == before


@pytest.mark.parametrize(
    "noise_function",
    [function for _, function in NOISE_FUNCTIONS],
    ids=lambda function: function.__name__,
)
def test_every_slot_is_said_as_it_was(noise_function: NoiseFunction, sample: Corpus) -> None:
    for seed, found in enumerate(sample.patterns * 20):
        rng: random.Random = seeded_random(seed)
        objective = expand(found, rng).objective
        slots = [slot.text for slot in objective.slots]
        noise_function(objective, rng)
        result = objective.plain_text().casefold()
        assert all(slot.casefold() in result for slot in slots)
        assert len(objective.slots) == len(slots)


@pytest.mark.parametrize("slot", ["Q3_sales.csv", '"Go Home"', "parse_date()", "1,500", "McDonald"])
def test_an_odd_slot_keeps_its_capitals(slot: str) -> None:
    for seed in range(200):
        assert slot in add_noise(marked(f"Read [{slot}] and the rest of it."), seeded_random(seed))
