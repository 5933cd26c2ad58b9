"""Whether a whole answer is a refusal in words. Pure."""

from __future__ import annotations

import re

__all__ = ["refuses"]

_LONGEST, _LONGEST_PLAIN = 400, 1500
"""Characters of a text that may be nothing but a refusal; longer ones have something to say. One
whose first sentence is a plain refusal may go on about what else there is to ask."""

_FIRST = (
    r"(?:(?:i['’]m|i am) (?:very |really |so |truly )?sorry|(?:i['’]m|i am) afraid"
    r"|(?:very |so )?sorry|unfortunately|i apologi[sz]e|my apologies)"
    r"(?:,? (?:but|that))?[,.:;]? "
)
_AS_AI = (
    r"(?:as|i['’]m(?: just| only)?|i am(?: just| only)?) an? (?:ai|(?:large )?language model)\b"
    r"[^.!?\n]{0,60}?[ ,]"
)
_CANNOT = (
    r"i(?: (?:can['’]?t|cannot|can not|won['’]?t|will not)|(?:['’]m| am) (?:unable to|not able to))"
)
_BETWEEN = (
    r"(?:,? (?:and|or|will|won['’]t|not|be|able|to|really|simply|just|currently|directly|actually"
    r"|ethically|legally|in good conscience))*"
)
_VERB = (
    r"(?:help(?! but\b| \w+ing\b)|assist|comply|fulfill?|provide|do th(?:at|is)|answer|support"
    r"|create|write|generate|engage|discuss|continue|share|produce|complete)"
)
_DOING = (
    r"(?:(?:help|assist|writ|provid|creat|generat|engag|discuss|answer|shar|produc|continu)ing"
    r"|(?:doing |with )?th(?:at|is))"
)
_REFUSAL = re.compile(
    rf"\W*(?:{_FIRST})?(?:{_AS_AI})?(?:but |so )?(?:"
    rf"{_CANNOT}{_BETWEEN} {_VERB}\b"
    r"|i(?:['’]ll| will)? (?:(?:must|have to|need to) )?decline\b"
    rf"|i(?:['’]m not| am not| don['’]t feel| do not feel) comfortable {_DOING}\b"
    r"|th(?:at|is)(?:['’]s not| is not| isn['’]t) something (?:that )?i(?:['’]m| am)? "
    rf"(?:can|will|able to|comfortable) {_VERB}\b)",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    rf"\W*(?:{_FIRST})?{_CANNOT} (?:help|assist|comply)(?: you)?"
    r"(?: with)? (?:th(?:at|is)|it|your)(?: request| question| task)?[.!]",
    re.IGNORECASE,
)


def refuses(text: str) -> bool:
    """Say whether a text is a refusal and nothing else: it is short and begins as refusals do.

    Example:
        *I'm sorry, but I can't help with that.*
    """
    if len(text) <= _LONGEST and _REFUSAL.match(text):
        return True
    return len(text) <= _LONGEST_PLAIN and _PLAIN.match(text) is not None
