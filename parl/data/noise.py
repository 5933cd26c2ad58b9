"""Noise around an objective: small talk, line breaks, typos, urgency."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from .wording import (
    DETERMINERS,
    IMPERATIVES,
    MARK,
    NOUNS,
    MarkedText,
    lower_case,
    mistype,
    shorten,
    shout,
    swap_spelling,
)

__all__ = [
    "AFTER",
    "ANYWHERE",
    "BEFORE",
    "NOISE_FUNCTIONS",
    "PLAIN_SHARE",
    "NoiseFunction",
    "add_noise",
    "add_small_talk",
    "add_thanks",
    "add_urgency",
    "ask_politely",
    "break_lines",
    "drop_end_mark",
]


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.strip().splitlines())


BEFORE = _lines("""
    Hi there!
    Hello.
    Good morning!
    Good evening, everyone.
    Hey team.
    Hi, it's me again.
    Hello again, old friend.
    Sorry to bother you so late.
    Sorry for yet another message.
    Quick one before lunch.
    One more thing for today.
    Okay, next.
    Right, here we go.
    So, new day, new problem.
    Here's one for you.
    Back from holiday, so here is the first job of the week.
    I hope this finds you well.
    I hope your week is going better than mine.
    Me again, same desk, same coffee.
    Long time no see.
    First time I use this, so bear with me.
    A colleague said you were good at this kind of thing.
    My boss just walked in with a new idea.
    My manager forwarded this to me five minutes ago.
    This landed on my desk this morning.
    This came up over dinner last night.
    We had a long argument about this at work.
    My daughter asked me and I had no idea.
    My flatmate and I have a bet going.
    It has been one of those weeks.
    I've been putting this off since March.
    I've been staring at this for an hour.
    I know this sounds odd.
    I'm not sure how to put this.
    I'm new to all of this.
    I'm typing this on my phone, so excuse the spelling.
    I'm on the train right now and the signal is poor.
    I'm a bit lost here.
    I tried this myself last night and gave up.
    I used to be good at this sort of thing.
    Ok so I've finally found a free minute.
    Greetings from a very rainy office.
    Dear assistant,
    Hope you had a nice weekend!
    As discussed on the phone this morning.
    Following up on yesterday's call.
    As I said in the meeting, I'm bad at this.
    Our usual person for this is off sick.
    The old notes got lost in the office move.
    Yes, it's that time of the year again.
    Alright, coffee is ready.
    Guess what landed in my inbox.
    Don't laugh at this one.
    Let me start with a confession: I have never done this before.
    Happy Monday!
    Happy Friday, nearly there!
    You were a great help last time.
    The last answer was spot on, by the way.
    I told my wife I'd get this done today.
    My teacher sprang this on us today.
    I promised my brother I'd sort this out.
    Not my favourite kind of job, this.
""")
"""Sentences to put before an objective."""

ANYWHERE = _lines("""
    It's raining here again.
    The weather is lovely today, by the way.
    My cat is asleep on the keyboard.
    The kids are finally in bed.
    The office is freezing today.
    The coffee machine is broken again.
    Our heating has been out since Tuesday.
    My laptop is slow today.
    I've had far too much coffee.
    I haven't slept much.
    I have been at this company for six years now.
    I've just moved house and everything is in boxes.
    I'm between two meetings.
    I'm writing this from a café in Lyon.
    I'm sitting in a waiting room with nothing to read.
    I'm a nurse, by the way, on the night shift.
    I'm a student in my second year.
    I run a small business with two people.
    I retired last spring and I'm enjoying it.
    I work from home on Wednesdays.
    We're a team of five, spread over three time zones.
    We moved into this building last month.
    We've been talking about this for ages.
    We did something like this last year and it went fine.
    Nobody here has done this before.
    Nobody in the office could agree.
    My colleagues are all at a conference.
    My neighbour is playing the drums again.
    My sister thinks I worry too much.
    My grandfather would have loved this.
    My dog sends his regards.
    Last time this took me a whole afternoon.
    It took us ages to get this far.
    It all started with a chat by the printer.
    It's for something I have had in mind for a while.
    It's been on my list forever.
    It is a long story.
    The whole thing goes back to last summer.
    The others have gone home already.
    The phone hasn't stopped ringing all day.
    There's a lot going on here at the moment.
    There was cake in the office today, at least.
    This has been bugging me for weeks.
    This is my third attempt at writing this message.
    That's where I'm stuck.
    Things are a bit hectic over here.
    To be honest, I had forgotten all about it until just now.
    Funny how these things always come up on a Friday.
    Life is strange sometimes.
    You know how it is.
    At least the sun is out.
    Traffic was awful this morning.
    I missed my bus because of this.
    I blame the new calendar app.
    I was never good at school.
""")
"""Sentences to put before or after an objective."""

AFTER = _lines("""
    No rush.
    No hurry at all.
    There's no hurry with this.
    Take your time.
    Whenever you have a moment.
    I'll be back after lunch.
    I'll be in a meeting until four.
    I'll get myself a coffee in the meantime.
    I'm looking forward to it.
    I'm curious what comes out.
    I'm really excited about this.
    I can't wait to see it.
    I owe you one.
    I'd be really grateful.
    I'd appreciate it a lot.
    That would make my day.
    That would be great.
    That would help me a lot.
    That's all for now.
    That's it from my side.
    That's all, I think.
    Hope that makes sense.
    Hope that's okay.
    I hope that's clear.
    I know you can do it.
    I know it's a lot to ask.
    I know I'm asking for a lot lately.
    Sorry for the long message.
    Sorry for the short notice.
    Sorry if that's a silly request.
    You're a lifesaver.
    You're the best.
    You'd save my evening.
    My boss will be pleased.
    My team will be over the moon.
    My family will be surprised.
    Everyone here is waiting for it.
    Fingers crossed!
    Have a nice day!
    Have a good weekend.
    Best wishes from Leeds.
    Best, Marta
    Regards, Tom
    Sent from my phone
    Talk soon!
    Let's see how this goes.
    Let's see what happens.
    Bye for now.
    See you tomorrow.
    Back to work for me.
    Wish me luck!
    I love this tool.
    It would be a load off my mind.
    Much appreciated.
    Many thanks in advance, you have been so patient with me.
    I'm off to the gym now.
    Off to pick up the kids.
    And then I can finally go home.
""")
"""Sentences to put after an objective."""


_ITEM = re.compile(r"(?:-|\d+\.) ")
_END_MARK = re.compile(r"[.?!…]['\"”)]?$")
_SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)(?<=[.?!]) (?=\S)")


def ask_politely(objective: MarkedText, rng: random.Random) -> None:
    """Put a polite phrase before a verb, or `please` after a single sentence."""
    text = objective.text
    if not _begins_with_verb(text):
        return
    single = "\n" not in text and not _SENTENCE_END.search(text)
    if single and not text.endswith("?") and rng.random() < 0.15:
        end = text[-1] if text[-1] in ".!" else ""
        objective.text = f"{text.removesuffix(end)}, please{end}"
        return
    phrase, is_question = rng.choice(_POLITE)
    text = f"{phrase} {text[0].lower()}{text[1:]}"
    if is_question and single and rng.random() < 0.7:
        text = f"{text.removesuffix('.')}?" if not text.endswith(("?", "!")) else text
    objective.text = text


def _begins_with_verb(text: str) -> bool:
    first = re.match(r"(?P<verb>[A-Za-z-]+)[\s:](?P<next>\S[\w]*)", text)
    if first is None or first["verb"].lower() not in IMPERATIVES:
        return False
    # `Test coverage of` and `Report comment,` begin with nouns.
    verb = first["verb"].lower() not in NOUNS or first["next"].lower() in DETERMINERS
    return verb or re.match(MARK, first["next"]) is not None


_POLITE = (
    *((phrase, False) for phrase in (
        "Please", "Please", "please", "Pls", "Kindly", "I need you to", "I'd like you to",
        "I want you to", "I would like you to", "Help me:", "Next task:", "New task:", "Task:",
        "Your job is to", "Hey, please", "Hi! Please", "We need you to", "Okay,", "Now",
        "What I need: ", "I'd be glad if you would", "Be so kind and", "First thing today:",
    )),
    *((phrase, True) for phrase in (
        "Can you", "can you", "Could you", "Could you please", "can you please", "Would you",
        "Hey, could you", "hey can you", "Hi, can you", "Would you mind helping me out? Can you",
        "Any chance you could", "Do you think you could", "Is it possible that you", "Could u",
        "Hello, would you", "Can somebody", "Will you", "May I ask you to", "Can I get you to",
    )),
)  # fmt: skip


def add_urgency(objective: MarkedText, rng: random.Random) -> None:
    """Add that it is urgent."""
    if _ends_in_list(objective.text):
        _append(objective, rng.choice(("ASAP please.", "asap!", "Urgent!", "It's urgent.")), "\n")
        return
    text = objective.text
    end = text[-1] if text[-1:] in (".", "!", "?") else ""
    word = rng.choice((" asap", " asap", " ASAP", ", asap", ", ASAP please", " - it's urgent"))
    objective.text = f"{text.removesuffix(end)}{word}{end}"


def break_lines(objective: MarkedText, rng: random.Random) -> None:
    """Put each sentence on its own line."""
    objective.text = _SENTENCE_END.sub(rng.choice(("\n", "\n\n")), objective.text)


def add_small_talk(objective: MarkedText, rng: random.Random) -> None:
    """Add small talk before or after, or both."""
    where = rng.choice(("before", "before", "after", "after", "both"))
    opening = ""
    if where != "after":
        opening = rng.choice(BEFORE + ANYWHERE)
        separator = "\n" if opening.endswith(",") or _ITEM.match(objective.text) else " "
        separator = rng.choice((separator, separator, separator, "\n"))
        objective.text = f"{opening}{separator}{objective.text}"
    if where != "before":
        closing = rng.choice(
            tuple(sentence for sentence in AFTER + ANYWHERE if sentence != opening)
        )
        _append(objective, closing, rng.choice((" ", " ", " ", "\n")))


def add_thanks(objective: MarkedText, rng: random.Random) -> None:
    """Add thanks at the end."""
    thanks = ("Thanks!", "Thanks.", "thanks", "Thank you!", "Thank you.", "thx", "Cheers!", "Ta!")
    _append(objective, rng.choice(thanks), rng.choice((" ", " ", "\n")))


def drop_end_mark(objective: MarkedText, _rng: random.Random) -> None:
    """Remove the final full stop, question mark or exclamation mark."""
    objective.text = re.sub(r"(?<!\.)(?<!etc)[.?!]$", "", objective.text)


def _append(objective: MarkedText, addition: str, separator: str) -> None:
    text = objective.text
    if _ends_in_list(text):
        objective.text = f"{text}\n{addition}"
    else:
        stop = "" if _END_MARK.search(text) or separator == "\n" else "."
        objective.text = f"{text}{stop}{separator}{addition}"


def _ends_in_list(text: str) -> bool:
    *before, last = text.split("\n")
    return bool(before) and _ITEM.match(last) is not None


PLAIN_SHARE = 0.55
"""Share of the objectives that get no noise."""

_TRIES = 20  # a noise function may find nothing to change

NoiseFunction = Callable[[MarkedText, random.Random], None]

NOISE_FUNCTIONS: tuple[tuple[float, NoiseFunction], ...] = (
    (0.12, swap_spelling),
    (0.16, shorten),
    (0.30, ask_politely),
    (0.05, shout),
    (0.25, mistype),
    (0.06, add_urgency),
    (0.28, add_small_talk),
    (0.12, add_thanks),
    (0.12, break_lines),
    (0.30, drop_end_mark),
    (0.30, lower_case),
)
"""Every noise function and its probability in an objective with noise, in order of application."""


def add_noise(objective: MarkedText, rng: random.Random) -> str:
    """Return an objective as a person might write it; most often it stays plain."""
    plain = objective.plain_text()
    if rng.random() < PLAIN_SHARE:
        return plain
    text = plain
    for _ in range(_TRIES):
        noisy = MarkedText(objective.text, list(objective.slots))
        for probability, noise_function in NOISE_FUNCTIONS:
            if rng.random() < probability:
                noise_function(noisy, rng)
        text = noisy.plain_text()
        if text != plain:
            break
    return text
