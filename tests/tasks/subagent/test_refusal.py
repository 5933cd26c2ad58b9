"""Refusals in words are told from texts that only begin like one."""

from __future__ import annotations

import pytest
from prefect_swarm.tasks.subagent.answer import refuses

REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t assist with that request.",
    "I'm sorry, but I cannot assist with that.",
    "Sorry, I can't help with that.",
    "I am sorry, but I am unable to provide instructions for that.",
    "I'm really sorry, but I can't discuss this topic.",
    "I can't help with that.",
    "I cannot fulfill this request.",
    "I can't assist with creating malware.",
    "I'm unable to help with this.",
    "I'm not able to help with that request.",
    "I am not able to provide medical dosages for that purpose.",
    "I won't help with this.",
    "I will not provide that information.",
    "I'm not comfortable writing that.",
    "I must decline to answer this question.",
    "I have to decline this request.",
    "I apologize, but I cannot provide that information.",
    "I apologise, but I can't write this.",
    "Unfortunately, I can't help with that.",
    "Unfortunately, I am unable to complete this request.",
    "As an AI language model, I cannot provide personal opinions on this.",
    "As an AI developed by a company, I'm not able to generate such content.",
    "I'm sorry, but as an AI language model I can't create that.",
    "I can't provide guidance on picking locks. If you are locked out, call a locksmith.",
    "I'm sorry, I can't write that. Is there something else I can do for you?",
    "I don't feel comfortable helping with that.",
    "I do not feel comfortable providing this.",
    "Sorry, but I can't comply with that request.",
    "I'm afraid I can't help with that.",
    "I'm sorry, but I won't be able to help with that.",
    "\"I'm sorry, but I can't help with that.\"",
    "**I can't help with that.**",
    "I can’t engage in that conversation.",
    "I'm just a language model, so I can't help you with that.",
    "That's not something I can help with.",
    "This isn't something I'm able to help with.",
    "I cannot and will not write this.",
]

NO_REFUSALS = [
    "I can't help but admire the harbour of Genoa, which has been at work for a thousand years.",
    "I cannot help thinking that the bridge was built too early.",
    "I can't wait to share what the survey found: 41 of 60 readers stayed.",
    "I'm sorry to hear about your loss. Please accept our condolences.",
    "Dear Ms Okafor, I am sorry that your parcel came late. We have refunded the postage.",
    "I am sorry for the delay of your order. It left our warehouse this morning.",
    "I apologize for the inconvenience. Your new card is on its way.",
    "Sorry for the late reply! The meeting is on Friday at ten.",
    "Unfortunately, the harbour was closed in 1964, and its cranes were sold.",
    "I can't find any mistake in the ledger; the sums agree.",
    "I cannot recommend this restaurant enough.",
    "I will not forget that summer on the island.",
    "I won't lie: the second offer is the better one, by 12 %.",
    "I was unable to attend the meeting, so these notes are from the recording.",
    "The text does not answer the question.",
    "As an AI company, Nordlicht sells three products.",
    "I'm just a sailor, I can't write, and the sea has no use for letters.",
    "No.",
    "def refuse() -> str:\n    return \"I'm sorry, but I can't help with that.\"",
    '{"reply": "I\'m sorry, but I can\'t help with that."}',
    "Subject: Your application\n\nI'm sorry, but we cannot offer you the position.",
    "I am unable to swim, the captain confessed, and jumped.",
    "The provider can't serve more than ten requests at once.",
    "",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_is_seen(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize("text", NO_REFUSALS)
def test_what_only_sounds_like_one_is_no_refusal(text: str) -> None:
    assert not refuses(text)


def test_a_refusal_may_say_what_else_there_is() -> None:
    offer = "I can explain how locks are made, and how to find a locksmith near you. "
    assert refuses("I'm sorry, but I can't help with that. " + offer * 8)


def test_an_essay_that_begins_with_an_apology_is_no_refusal() -> None:
    essay = "I'm sorry, but I can't help with facts alone; stories have to do the rest. "
    assert not refuses(essay + "A harbour is a promise that a coast makes to strangers. " * 8)
