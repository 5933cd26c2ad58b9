"""Bodies and wordings of providers' errors. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any, cast

from ...text import count_in

__all__ = [
    "Codes",
    "codes_of",
    "is_exhausted",
    "is_filtered",
    "is_overflow",
    "is_page",
    "is_too_large_for_its_rate",
    "message_of",
    "wait_in",
]


_DEEPEST = 8
"""Levels that are looked into: a body may nest itself in strings."""
_MOST_ITEMS = 5
"""Problems of a list that are said."""

_WORDS = (
    *("message", "Message", "msg", "error", "errors", "detail", "details", "error_message"),
    *("error_msg", "errorMessage", "status_msg", "statusText", "error_description", "base_resp"),
    *("description", "reason", "title", "body", "raw"),
)
"""Where a body has its words, the most telling first."""
_SAYS_NOTHING = re.compile(
    r"provider returned error|(upstream|internal|bad|unknown) ?(server)? ?(error|request)|error|",
    re.IGNORECASE,
)
"""Words of a gateway that only say that something was wrong: what is behind them says more."""
_CODES = (
    *("code", "type", "status", "status_code", "statusCode", "error_code", "error_type"),
    *("http_status", "httpStatus", "__type", "reason", "err_code", "errorCode"),
)
_INSIDE = ("error", "errors", "innererror", "base_resp", "metadata", "details", "detail", "message")


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes of an error's body.

    Attributes:
        status: An HTTP status among them.
        names: All of them as words, in lower case.
    """

    status: int | None
    names: frozenset[str]


def message_of(body: object) -> str:
    """Return what an error's body says in words; "" where it says nothing.

    Args:
        body: What was sent: parsed, as text, or as bytes.
    """
    return " ".join(_said(body, 0).split())


def is_page(text: str) -> bool:
    """Say whether a text is a web page."""
    start = text[:500].lstrip("\ufeff \r\n\t").lower()
    return start.startswith(("<!doctype", "<html", "<head", "<body", "<?xml")) or "<html" in start


def codes_of(body: object) -> Codes:
    """Return the codes of an error's body, wherever they are."""
    found = [str(code) for code in _codes(body, 0)]
    statuses = [code for code in map(count_in, found) if code is not None and 400 <= code < 600]
    return Codes(statuses[0] if statuses else None, frozenset(code.lower() for code in found))


def _said(body: object, depth: int) -> str:
    if depth > _DEEPEST:
        return ""
    if isinstance(body, bytes | bytearray):
        body = bytes(body).decode(errors="replace")
    if isinstance(body, str):
        return _of_text(body, depth)
    if isinstance(body, Mapping):
        return _of_fields(cast("Mapping[str, Any]", body), depth)
    if isinstance(body, Sequence):
        items = cast("Sequence[object]", body)
        return "; ".join(_distinct(_said(each, depth + 1) for each in items[:_MOST_ITEMS]))
    return ""


def _of_text(text: str, depth: int) -> str:
    if is_page(text):
        return _of_page(text)
    if text.lstrip()[:1] in ("{", "["):
        try:
            inner: object = json.loads(text)
        except (ValueError, RecursionError):
            return text
        return _said(inner, depth + 1) or (text if inner else "")
    return text


def _of_page(text: str) -> str:
    for tag in ("title", "h1"):
        if found := re.search(rf"<{tag}[^<>]*+>([^<]{{1,200}})<", text, re.IGNORECASE):
            return f"a web page, {unescape(found[1]).strip()!r}"
    return "a web page"


def _of_fields(fields: Mapping[str, Any], depth: int) -> str:
    if isinstance(fields.get("msg"), str) and "loc" in fields:
        # A problem as pydantic lists it, which FastAPI and Mistral send.
        loc = fields["loc"]
        place: list[Any] = list(loc) if isinstance(loc, list | tuple) else [loc]  # pyright: ignore[reportUnknownArgumentType]
        return f"{'.'.join(map(str, place))}: {fields['msg']}"
    words = next(filter(None, (_said(fields.get(name), depth + 1) for name in _WORDS)), "")
    if _SAYS_NOTHING.fullmatch(words.strip(" .")):
        behind = _said(fields.get("metadata") or fields.get("innererror"), depth + 1)
        words = ": ".join(_distinct((words, behind)))
    if words:
        return words
    codes = [fields[name] for name in _CODES if isinstance(fields.get(name), str | int)]
    return str(codes[0]) if codes else ""


def _codes(body: object, depth: int) -> Iterable[str | int]:
    if depth > _DEEPEST:
        return
    if isinstance(body, str) and body.lstrip()[:1] in ("{", "["):
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return
    if isinstance(body, Mapping):
        fields = cast("Mapping[str, Any]", body)
        for name in _CODES:
            code: object = fields.get(name)
            if isinstance(code, str | int) and not isinstance(code, bool) and len(str(code)) < 80:
                yield code
        for name in (*_INSIDE, "raw"):
            yield from _codes(fields.get(name), depth + 1)
    elif isinstance(body, list):
        for item in cast("list[object]", body)[:_MOST_ITEMS]:
            yield from _codes(item, depth + 1)


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_OVERFLOW_NAMES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "contextwindowexceedederror",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "tokens_limit_reached",
        "request_too_large",
        "string_above_max_length",
        "input_too_long",
        "prompt_too_long",
        "max_tokens_exceeded",
        "payload_too_large",
        "1261",  # Zhipu
        "1039",  # MiniMax
        "336007",  # Baidu
        "336103",
    }
)
_UNIT = r"(?:tokens?|characters?|chars|bytes)"
_SIZE = (
    r"(?:token|jeton|kontext|context[eo]|contesto|kontekst|bağlam|ngữ cảnh|السياق|контекст|токен"
    r"|prompt|eingabe|anfrage|entrada|mensaje|solicitud|mensagem|solicitação|invite|entrée|requête"
    r"|richiesta|verzoek|zapytani|запрос|ввод|промпт|giriş|istek)"
)
_TOO_MUCH = (
    r"(?:excede|excedi|supera|sobrepas|ultrapass|dépass|überschr|übersteig|overschr|превы|przekr"
    r"|zu lang|zu groß|te lang|te groot|trop (?:long|grand)|demasiado (?:larg|grand)"
    r"|(?:longo|grande) demais|muito long|troppo (?:lung|grand)|слишком (?:длинн|больш)|zbyt dług"
    r"|çok uzun|aşıldı|aşıyor|vượt quá|تجاوز)"
)
_OVERFLOW = _any_of(
    # A context, window or length, and that it doesn't do.
    r"max(?:imum)? (?:\w{1,30} )?context",
    r"context[ _-]?(?:length|window|size|limit)s?\b.{0,60}(?:exceed|overflow|too |reach|full|less)",
    r"(?:exceed|overflow|beyond|larger|longer|greater|bigger|more)\w{0,30}\b.{0,60}\bcontext",
    r"context (?:is )?(?:too (?:long|large|big)|overflow|exceed)",
    r"exceed_context_size|max_(?:seq_len|model_len|prompt_tokens|input_tokens|position_emb)",
    # A prompt, input or request that is too long.
    r"(?:prompt|input|message|request|conversation|query|text|content|body|entity|payload)\w{0,30}\b"
    r".{0,30}\btoo (?:long|large|big)",
    r"too many (?:\w{1,30} )?tokens",
    rf"(?:prompt|input|request|message|total|token)\w{{0,30}}\b.{{0,40}}\b{_UNIT}\b.{{0,60}}"
    r"(?:exceed|larger than|longer than|greater than|more than|over the)",
    r"(?:prompt|input|sequence|token|request)\w{0,30} (?:length|count|size)s?\b.{0,60}"
    r"(?:exceed|larger|longer|greater|more than|over |maximum|must be|limit)",
    rf"exceed\w{{0,30}}\b.{{0,60}}\b(?:{_UNIT}|prompt|input)\b",
    r"(?:max|maximum) (?:allowed )?(?:prompt|input|sequence|token)\w{0,30}"
    r" (?:length|size|count|limit)",
    r"reduce (?:the length|the size|your prompt|your input|the prompt|the input|input length)",
    r"range of input length should be|must have less than \d+ tokens|token limit (?:is )?exceed",
    r"tokens to keep from the initial prompt|longer than the maximum model length",
    r"(?:prompt|input|request)\w{0,30} (?:has|have|is|contains?)"
    r" (?:about |at least )?[\d,.]+ tokens",
    r"\b(?:input|prompt|tokens?)\b.{0,60}\b(?:exceed|bigger|larger|over)\w{0,30}\b.{0,30}\blimit",
    r"context shift|\bn_ctx\b|max(?:imum)? (?:input|prompt) tokens|support the context length",
    r"messages\W.{0,30}content\W.{0,40}at most \d+ characters",
    r"reached (?:the )?context length|tokens in request|request exceeds the maximum",
    r"current length is \d+ while limit is \d+|`?inputs`? tokens \+ `?max_new_tokens",
    # An answer that is asked for with more tokens than a model writes.
    r"max_(?:completion_|output_|new_)?tokens\W.{0,50}(?:too (?:large|big|high)|exceed|at most|"
    r"\d > \d|(?<!must be )greater than|larger than|less than|valid range|should be)",
    r"(?:valid )?range of max_tokens|at most \d+ completion tokens",
    # Chinese, Japanese, Korean.
    r"上下文.{0,20}(?:超|过|長|长|限)|(?:超|过).{0,20}上下文",
    r"(?:输入|輸入|提示词?|提示|消息|请求|prompt|tokens?|内容|文本|字符|长度)\s*.{0,12}"
    r"(?:超过|超過|超出|超长|过长|太长|过大|超限)",
    r"超(?:过|出|過).{0,20}(?:最大|上限|限制).{0,12}(?:长度|tokens?|字符|输入)",
    r"最大.{0,6}(?:输入|长度|tokens?).{0,16}(?:超|不能|不得)",
    r"コンテキスト.{0,20}(?:超|長|上限)|(?:入力|プロンプト|トークン).{0,16}(?:長すぎ|超え|超過|上限)",
    r"컨텍스트.{0,20}(?:초과|길|제한)|(?:입력|프롬프트|토큰).{0,16}(?:초과|너무 길|제한)",
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish, Russian, Turkish, Vietnamese,
    # Arabic: what there is too much of, and that there is, the one way round and the other.
    rf"{_SIZE}.{{0,60}}{_TOO_MUCH}|{_TOO_MUCH}.{{0,60}}{_SIZE}",
)
_OF_RATES = _any_of(
    r"per[ -](?:minute|hour|day|second|month)|rate[ _-]?limit|requests? limit|throttl",
    r"\b[rt]p[mdhs]\b",
    r"please wait|try again in|retry (?:in|after)|quota|concurren|too many requests",
    r"por minuto|par minute|pro minute|al minuto|per minuut|в минуту|dakika",
    r"频率|速率|限流|并发|稍后|配额|欠费|余额|レート|요청 한도",
)
_OF_A_FIELD = re.compile(r"\btools?(?:_calls)?\[|\.(?:id|name|description)\b|tool description")
"""Words about a text that is too long and isn't the conversation's."""
_TOO_LARGE = re.compile(
    r"request (?:is )?too large|too large for (?:model|the rate|your rate)", re.IGNORECASE
)
_LIMIT_AND_REQUESTED = re.compile(
    r"limit[: ]{1,9}(?P<limit>[\d,._]{0,40}\d)\b.{0,80}?"
    r"requested[: ]{1,9}(?P<requested>[\d,._]{0,40}\d)",
    re.IGNORECASE | re.DOTALL,
)

_FILTER_NAMES = frozenset(
    {
        "content_filter",
        "content_filtered",
        "content_policy_violation",
        "contentpolicyviolationerror",
        "responsibleaipolicyviolation",
        "data_inspection_failed",
        "datainspectionfailed",
        "moderation_blocked",
        "prohibited_content",
        "new_sensitive",
        "sensitive",
        "safety",
        "guardrail_intervened",
        "guardrail",
        "1301",  # Zhipu
        "1026",  # MiniMax
        "1027",
    }
)
_FILTERED = _any_of(
    r"content management policy|content[ _-]?filter|content[ _-]policy|inappropriate content",
    r"usage (?:policy|policies|guidelines)|responsible ai|data_?inspection_?failed",
    r"flagged (?:as|by|for)|(?:was|been|is) flagged|moderation|prohibited content|guardrail",
    r"violat\w{0,20}.{0,60}(?:polic(?:y|ies)|guidelines)",
    r"safety (?:system|check|filter|reasons|polic)",
    r"content exists risk|sensitive (?:content|words?|information)|unsafe content",
    r"敏感|不安全|违规|违法|不合规|内容安全|审核|安全审查|不適切|유해",
)

_NO_FILTER = _any_of(
    r"\baccount (?:has been |was |is )?(?:flagged|suspended|disabled|banned)",
    r"(?:unknown|unrecognized|unsupported|unexpected|invalid) (?:field|param|arg|keyword|value)",
    r"not a (?:known|valid|supported) (?:field|param|arg)",
)

_EXHAUSTED_NAMES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "credit_balance_exhausted",
        "exceeded_current_quota_error",
        "insufficient_balance",
        "insufficient_user_quota",
        "arrearage",
        "payment_required",
        "budget_exceeded",
        "1113",  # Zhipu
        "1008",  # MiniMax
    }
)
_EXHAUSTED = _any_of(
    r"insufficient (?:account )?(?:balance|credits?|funds)|credit balance is too low|arrear",
    r"(?:out of|not enough|no more|requires more) credits|payment required",
    r"欠费|余额不足|余额已|请充值|额度不足|额度已用尽",
)

_WAIT = re.compile(
    r"(?:try again|retry|wait|reset\w{0,20})\D{0,20}?(?=\d)"
    r"(?:(?P<h>\d{1,20})\s{0,9}h(?:ours?)?\W{0,20})?"
    r"(?:(?P<m>\d{1,20})\s{0,9}m(?:in(?:utes?)?)?(?!s)\W{0,20})?"
    r"(?:(?P<s>\d{1,20}(?:\.\d{1,20})?)\s{0,9}(?P<unit>ms|milliseconds?|s|sec|seconds?|秒)(?![a-z]))?",
    re.IGNORECASE,
)


def is_overflow(words: str, codes: Codes, status: int | None) -> bool:
    """Say whether a request is refused since it is larger than the model or the server takes.

    Args:
        words: What the provider says.
        codes: Its codes.
        status: The status that it came with.
    """
    if status in (401, 402, 429) or _OF_A_FIELD.search(words):
        return False
    if status == 413 or codes.names & _OVERFLOW_NAMES:
        return True
    text = " ".join((words, *codes.names))
    return _OVERFLOW.search(words) is not None and _OF_RATES.search(text) is None


def is_too_large_for_its_rate(words: str) -> bool:
    """Say whether one request asks for more tokens than its rate limit ever lets through."""
    if found := _LIMIT_AND_REQUESTED.search(words):
        return _number(found["requested"]) > _number(found["limit"])
    return _TOO_LARGE.search(words) is not None


def is_filtered(words: str, codes: Codes, status: int | None) -> bool:
    """Say whether a provider refuses what a request is about."""
    if status in (401, 402, 404, 429, 503, 529):
        return False
    if codes.names & _FILTER_NAMES:
        return True
    return _FILTERED.search(words) is not None and _NO_FILTER.search(words) is None


def is_exhausted(words: str, codes: Codes) -> bool:
    """Say whether an account has no money or quota left, which no wait brings back."""
    return bool(codes.names & _EXHAUSTED_NAMES) or _EXHAUSTED.search(words) is not None


def wait_in(words: str) -> float | None:
    """Return the seconds that an error's words ask to wait, if they do."""
    for found in _WAIT.finditer(words):
        hours, minutes, seconds = found["h"], found["m"], found["s"]
        if hours or minutes or seconds:
            small = (found["unit"] or "").lower().startswith("m")
            rest = float(seconds or 0) / (1000 if small else 1)
            return int(hours or 0) * 3600 + int(minutes or 0) * 60 + rest
    return None


def _number(text: str) -> int:
    digits = re.sub(r"[,._]", "", text)
    return int(digits[:18])
