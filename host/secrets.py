"""Passwords, keys and tokens in addresses and other texts: found, and masked.

There is one way to find a secret. Behind a key such as `password`, what tools give and get is
masked whatever it is, and what a person or a model wrote only where it looks like a secret.

All is linear: a key's name is found first, and little is looked at around it. Pure.
"""

from __future__ import annotations

import binascii
import json
import re
from base64 import b64decode
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import pairwise
from urllib.parse import quote, unquote

__all__ = [
    "ELSEWHERE",
    "KEY_FORMS",
    "MASK",
    "mask",
    "mask_written",
    "masked_urls",
    "secret_in",
    "secrets_in",
    "secrets_of",
    "without_secrets",
]

MASK = "…masked…"
ELSEWHERE = "\0"
"""Stands in an address for a secret that isn't in it, such as a variable's value."""
_URL = re.compile(
    r"""(?:[A-Za-z][A-Za-z0-9+.-]{0,20}:(?:\\?/)|https?:)(?:\\?/)[^\s"'<>`]+"""
    r"""|(?<=@)[^\s"'<>`@/:]{1,200}:[^\s"'<>`@/]{1,200}@[^\s"'<>`]+"""
)
"""An address in a text. JSON may write `\\/`. Without `https://`, a password stands behind the `@`
of a model's name. A path takes `https://` for `https:/`."""
_CLOSING = ")]}.,;!\\"
# Looked for where its characters begin alone: from each of them, time would grow with the square.
_SCHEME = re.compile(r"(?<![A-Za-z0-9+.-])[0-9+.-]*+[A-Za-z][A-Za-z0-9+.-]*+:(?:\\?/){1,2}")
_PARTS = re.compile(r"(?P<authority>(?:[^/?#\\]|\\(?!/))*)(?P<rest>.*)", re.DOTALL)
_UNQUOTED_PASSWORD = re.compile(r"[^@\[]*:(?!\d*$)[^@]*$")
"""What stands before the first slash where a password has one itself: `user:pa`."""
_FIELD = re.compile(
    r"(?P<before>[?&;#])(?P<name>[\w.%~+\[\]$-]{1,80})=(?P<value>[^&;#]*)", re.ASCII
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_FIELD_NAMES = frozenset(
    {"apikey", "auth", "authorization", "bearer", "code", "cred", "credential", "credentials"}
    | {"jwt", "key", "pass", "passphrase", "passwd", "password", "pat", "pw", "pwd", "sas"}
    | {"secret", "session", "sessionid", "sig", "signature", "token"}
)
_FIELD_ENDS = ("apikey", "authkey", "accesskey", "secretkey", "password", "secret", "token")
"""Of names that are written as one word, in lower case."""
_DEEPEST = 4
"""Addresses within one another that are read: what has more counts as a secret."""
_HARMLESS = frozenset({"", "true", "false", "none", "null", "0", "1", "yes", "no"})


def secret_in(url: str) -> str:
    """Say what secret a web address has, in words that don't repeat it; "" for none."""
    return _secret_in(url, _DEEPEST)


def _secret_in(url: str, deepest: int) -> str:
    authority, rest = _split(url)
    user, at, _ = _plain(authority).rpartition("@")
    if at and ELSEWHERE not in (user.partition(":")[2] or user):
        return "a user or password before the @"
    if ELSEWHERE not in authority and _UNQUOTED_PASSWORD.match(_plain(authority)):
        return "a password, or a port that is not a number"
    for field in _FIELD.finditer(rest):
        if _is_secret_field(field, deepest):
            return f"a key or password behind {_plain(field['name'])}="
    return ""


def secrets_of(text: str) -> tuple[str, ...]:
    """Return the secrets of the addresses in a text, as they stand there and decoded."""
    found: list[str] = []
    for url in _URL.finditer(text):
        authority, rest = _split(url[0])
        user, at, _ = authority.rpartition("@")
        if at:
            _, colon, password = user.partition(":")
            found += [user, password] if colon else [user]
        found += [field["value"] for field in _FIELD.finditer(rest) if _is_secret_field(field)]
    return tuple(dict.fromkeys(form for each in found for form in (each, _plain(each)) if form))


def masked_urls(text: str) -> str:
    """Return a text with the secrets of its addresses masked; all else stays as it is."""
    # Found fast, and most texts have none.
    if "@" not in text and ":/" not in text and ":\\/" not in text:
        return text
    return _URL.sub(_masked_url, text)


def _masked_url(found: re.Match[str]) -> str:
    # What closes a bracket, a sentence or a text of JSON isn't the address's.
    url = found[0].rstrip(_CLOSING)
    return f"{without_secrets(url)}{found[0][len(url) :]}"


def without_secrets(url: str) -> str:
    """Return one address with its secrets masked."""
    scheme = found[0] if (found := _SCHEME.match(url)) else ""
    authority, rest = _split(url)
    if "@" in authority:
        authority = f"{MASK}@{authority.rpartition('@')[2]}"
    elif "@" in _plain(authority):
        authority = MASK
    elif _UNQUOTED_PASSWORD.match(_plain(authority)) and "@" in rest:
        authority, rest = f"{MASK}@", rest.rpartition("@")[2]
    return f"{scheme}{authority}{_FIELD.sub(_masked_field, rest)}"


def _split(url: str) -> tuple[str, str]:
    """Return who and where, and what follows: path, query and fragment."""
    parts = _PARTS.match(_SCHEME.sub("", url, count=1))
    return (parts["authority"], parts["rest"]) if parts else ("", "")


def _masked_field(field: re.Match[str]) -> str:
    return f"{field['before']}{field['name']}={MASK}" if _is_secret_field(field) else field[0]


def _is_secret_field(field: re.Match[str], deepest: int = _DEEPEST) -> bool:
    value = _plain(field["value"])
    if (at := value.find("://")) >= 0 and (
        deepest == 0 or _secret_in(value[max(0, at - 1) :], deepest - 1)
    ):
        return True
    name = _plain(field["name"])
    words = {word.lower() for word in _WORD.findall(name)}
    is_named = bool(words & _FIELD_NAMES) or name.lower().endswith(_FIELD_ENDS)
    return is_named and value.lower() not in _HARMLESS and ELSEWHERE not in value


def _plain(text: str) -> str:
    """Return a part of an address without percent signs, however often it was quoted."""
    for _ in range(3):
        # What stands for a secret elsewhere is written by us alone: no address has it quoted.
        parts = [unquote(part).replace(ELSEWHERE, "") for part in text.split(ELSEWHERE)]
        text, before = ELSEWHERE.join(parts), text
        if text == before:
            break
    return text


_OF_MODELS = (
    r"c?sk-(?=[\w-]{0,64}\d)[\w-]{16,}",  # OpenAI, Anthropic, OpenRouter, DeepSeek, Cerebras …
    r"sk-(?:[a-z]{2,8}-)?[A-Za-z0-9]{20,}[\w-]*+",
    r"AIza[\w-]{30,}",  # Google
    r"ya29\.[\w-]{20,}",
    r"GOCSPX-[\w-]{20,}",
    r"1//0[\w-]{30,}",
    r"hf_[A-Za-z0-9]{20,}",  # Hugging Face
    r"api_org_[A-Za-z0-9]{20,}",
    r"gsk_[A-Za-z0-9]{20,}",  # Groq
    r"xai-[A-Za-z0-9]{20,}",
    r"pplx-[A-Za-z0-9]{20,}",  # Perplexity
    r"r8_[A-Za-z0-9]{20,}",  # Replicate
    r"fw_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{20,}",  # Fireworks
    r"nvapi-[\w-]{20,}",
    r"tgp_v1_[\w-]{20,}",  # Together
    r"ABSK[A-Za-z0-9+/]{60,}=*+",  # Bedrock
    r"bedrock-api-key-[\w+/=-]{20,}",
    r"pcsk_\w{20,}",  # Pinecone
    r"tvly-[\w-]{16,}",  # Tavily
    r"jina_\w{20,}",
    r"fc-[0-9a-f]{32}",  # Firecrawl
    r"e2b_[0-9a-f]{20,}",
    r"lsv2_(?:pt|sk)_\w{20,}",  # LangSmith
)
_OF_CODE = (
    r"gh[opsur]_\w{20,}",  # GitHub
    r"github_pat_\w{20,}",
    r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|ffct|soat|imt|agent|oas)-[\w.-]{16,}",  # GitLab
    r"npm_[A-Za-z0-9]{20,}",
    r"pypi-AgE[\w-]{10,}",
    r"pypi-(?=[\w-]{0,64}\d)[\w-]{32,}",
    r"rubygems_[0-9a-f]{20,}",
    r"dckr_(?:pat|oat)_[\w-]{16,}",  # Docker
    r"AT(?:ATT3|CTT3|BB)[\w=-]{20,}",  # Atlassian
    r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}",  # Linear
    r"sntr(?:ys|yu)_[\w+/=-]{20,}",  # Sentry
    r"pn[bu]_[A-Za-z0-9]{20,}",  # Prefect
    r"pul-[0-9a-f]{20,}",  # Pulumi
    r"PMAK-[0-9a-f-]{20,}",  # Postman
    r"NRAK-[A-Z0-9]{20,}",  # New Relic
    r"gl(?:sa|c)_[A-Za-z0-9]{20,}[\w+/=]*+",  # Grafana
)
_OF_CLOUDS = (
    r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS
    r"LTAI[A-Za-z0-9]{12,}",  # Alibaba
    r"do[opr]_v1_[0-9a-f]{20,}",  # DigitalOcean
    r"dapi[0-9a-f]{32}(?:-\d)?",  # Databricks
    r"hv[bsr]\.[\w-]{20,}",  # Vault
    r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}",  # Terraform
    r"[\w~.-]{3}\dQ~[\w~.-]{31,34}",  # Azure
    r"tskey-[a-z]{2,10}-[\w-]{16,}",  # Tailscale
    r"sb(?:p_[0-9a-f]{20,}|_secret_[\w-]{20,})",  # Supabase
    r"nfp_[A-Za-z0-9]{20,}",  # Netlify
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{1,40}\.)?[A-Za-z0-9]{20,}",  # Doppler
    r"ops_eyJ[\w-]{20,}",  # 1Password
    r"fo1_[\w-]{20,}",  # Fly
    r"fm\d_[\w+/=-]{40,}",
)
_OF_SERVICES = (
    r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}",  # Stripe
    r"whsec_[A-Za-z0-9+/]{20,}=*+",
    r"xox[a-z](?:\.xox[a-z])?-[\w-]{10,}",  # Slack
    r"xapp-\d-[\w-]{10,}",
    r"SG\.[\w-]{16,64}\.[\w-]{16,}",  # SendGrid
    r"(?:SK|AC)[0-9a-f]{32}(?![A-Za-z0-9])",  # Twilio
    r"key-[0-9a-f]{32}(?![A-Za-z0-9])",  # Mailgun
    r"xkeysib-[0-9a-f]{20,}-\w{8,}",  # Brevo
    r"re_[A-Za-z0-9]{6,12}_[A-Za-z0-9]{16,}",  # Resend
    r"(?:bot)?\d{6,12}:[A-Za-z][\w-]{32,38}(?![\w-])",  # Telegram
    r"[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}",  # Discord
    r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{20,}",  # Shopify
    r"sq0(?:atp|csp|idp)-[\w-]{20,}",  # Square
    r"ntn_[A-Za-z0-9]{20,}",  # Notion
    r"secret_[A-Za-z0-9]{40,}",
    r"figd_[\w-]{20,}",  # Figma
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}",  # Airtable
    r"pat-(?:na|eu)\d-[0-9a-f-]{30,}",  # HubSpot
    r"ph[xs]_[A-Za-z0-9]{30,}",  # PostHog
)
_OF_STANDARDS = (
    # The look back keeps it to one beginning in a run of such characters.
    r"(?<![\w-])-{0,4}eyJ[\w-]{10,}+\.[\w-]{10,}+(?:\.[\w-]*+){1,3}",  # JSON Web Tokens
    r"(?i:AGE-SECRET-KEY-)[\w-]{20,}",
)
_PATHS = (
    r"(?<=hooks\.slack\.com/services/)[\w/-]{10,}",
    r"(?<=hooks\.slack\.com/workflows/)[\w/-]{10,}",
    r"(?<=discord\.com/api/webhooks/)[\w/-]{10,}",
    r"(?<=discordapp\.com/api/webhooks/)[\w/-]{10,}",
)
KEY_FORMS = re.compile(
    rf"(?<![A-Za-z0-9])(?:{'|'.join((*_OF_MODELS, *_OF_CODE, *_OF_CLOUDS, *_OF_SERVICES))}"
    rf"|{'|'.join((*_OF_STANDARDS, *_PATHS))})"
)
"""A key as its provider writes it: what it matches is secret as a whole."""


_SHORTEST = 6
_LONG = 16

_PEM = re.compile(
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
    r".*?(?:(?=-----END [A-Z0-9 ]{0,40}PRIVATE KEY)|\Z)",
    re.DOTALL,
)
_PASSWORD = re.compile(  # of an address
    r"(?<=://)[^\s/?#:@\"'`<>]{0,200}:(?P<password>[^\s/?#\"'`<>]{1,400})@(?=[\w\[])"
)
# A suffix says that the value is about the secret, and is not it.
_ABOUT = (
    r"(?![-_ ]?(?:counts?|types?|limits?|usage|budget|rates?|name|file|path|env|field|policy|hint"
    r"|length|ur[il]|endpoint|i[sz](?:e|at|ing)|expir\w{0,6}|lifetime)(?:[^a-z]|\b))(?!i[sz][ei])"
)
_NAMES = (
    r"(?:pass(?:word|wd|phrase|code)|passwort|\bpwd|secret(?!ar)|token|credential"
    r"|(?:api|access|private|accounts?|shared|auth|master|signing|signature|encryption|storage"
    r"|subscription|service|app|application|license|ssh|deploy|admin|client|consumer|hmac|bot)"
    r"[-_ .]?key(?![a-z])"
    r"|(?-i:(?<!PRIMARY)(?<!FOREIGN)(?<!PUBLIC)(?<!CACHE)(?<!SORT)_KEY(?![A-Za-z]))"
    r"|sessid|sessionid|connect\.sid|\bjwt\b|signature|_auth\b|\bauth\b(?=[\"'\\]{0,3}\s?[:=])"
    r"|(?<=[?&])(?:key|sig|code)(?==)"
    rf"|authorization|cookie){_ABOUT}"
)
_SCHEMES = (
    r"(?:(?:bearer|basic|token|digest|bot|apikey|api-key|key|negotiate|ntlm|ssws|oauth|splunk"
    r"|geniekey|hoba|mutual|vapid|aws4-hmac-sha256)[ \t]{1,9})"
)
_QUOTED = (
    r"\"{3}[^\"]*+\"{3}|'{3}[^']*+'{3}"
    r"|(?P<open>\\{1,8}[\"'])(?:[^\"'\\\n]|\\{1,8}(?![\"'\\]))*+(?:(?P=open)|\Z)"
    r"|\"(?:[^\"\\\n]|\\[^\n])*+(?:\"|\Z)|'(?:[^'\\\n]|\\[^\n])*+(?:'|\Z)|`[^`\n]*+(?:`|\Z)"
)
_BARE = r"(?![\[{(])(?:[^\s,;}&<>\"'`\\]|[<>\"'`\\](?=\w)|\\+(?=\w))++"
_VALUE = rf"(?P<value>[bBrRuUfF]{{0,2}}(?:{_QUOTED})|{_SCHEMES}?{_BARE})"
_KEYED = re.compile(
    # A name begins with one of these: most places of a text need no closer look.
    rf"(?P<key>(?=[psteacmbljkhd_])(?P<name>{_NAMES})[\w.-]{{0,40}}(?P<after>[\"'`*\\\])]{{0,8}})"
    r"(?P<between>\s{0,9}(?:=>|:=|={1,3}|:(?!//))\s{0,9}"
    r"|>(?=[^<>\s]{1,200}</)"
    r"|\s{0,9},\s{0,9}[\"'\\]{0,4}value[\"'\\]{0,4}\s{0,9}[:=]\s{0,9}"
    r"|(?P<loose>\s{0,9},\s{0,9}(?=[bB]?[\"'])"
    r"|[ \t]{1,4}(?:provided:?|is|was)[: \t]{1,4}|[ \t]{1,4}(?=[\w+/=.-]{16}))))"
    rf"{_VALUE}",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"(?P<key>(?P<name>authorization|cookie)[ \t]{0,9}:[ \t]{0,9})"
    r"(?P<value>[^\s\"'\\][^\r\n\"'\\]*+)",
    re.IGNORECASE,
)
_FLAG = re.compile(
    r"(?P<key>(?<![\w-])(?:--?(?P<name>[\w-]{0,40}(?:pass(?:word|wd|phrase)?|secret|token|key))"
    r"[ \t]{1,9}|(?:-u|--user|--proxy-user)[ =]{1,9}[\"']?[^\s:\"']{1,100}:(?!//)"
    r"|login\s{1,9}\S{1,100}\s{1,9}password\s{1,9}))"
    rf"(?!-){_VALUE}",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?P<key>\b(?P<name>bearer|basic)[ \t]{1,9})(?P<value>[\w.~+/=-]{6,})", re.I)
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:key|token|secret|password|passwd|pwd|passphrase|passcode|pat|auth|cookie"
    r"|credentials?|dsn|sas|jwt)$"
    r"|(?:api|access|secret|private|account)_?key|token|secret|password|passwd"
    r"|connection_?string|auth_string",
    re.IGNORECASE,
)
_NOTHING = frozenset(
    {"", "true", "false", "null", "none", "nil", "undefined", "yes", "no", "str", "string"}
)
_NUMBER = re.compile(r"[-+]?\d{1,40}(?:[.,_]\d{1,40}){0,20}%?")
_MAYBE_A_NUMBER = re.compile(r"pass|pwd|secret|credential|code", re.IGNORECASE)
_CODE_CHARACTERS = frozenset("()[]{}<>")
_STANDS_FOR = re.compile(r"[<{%$]|\.\.\.|…|\*\*\*")
_OPENED = re.compile(r"[bBrRuUfF]{0,2}(\\*(?:[\"']{3}|[\"'`]))")
_PAIR = re.compile(r"[\w.$-]{1,100}=[^\s;]")
_SCHEME_AND_KEY = re.compile(rf"{_SCHEMES}\S{{{_SHORTEST}}}", re.IGNORECASE)

_IsSecret = Callable[[re.Match[str]], bool]


def mask(text: str, secrets: Collection[str] = ()) -> str:
    """Return what a tool gave or got without secrets.

    Args:
        text: It is read as a whole: cut it first where it may be long.
        secrets: Values that must not be shown, such as those of a server's environment; shorter
            ones than six characters are words that texts have anyway.

    What stands behind a key such as `password`, and what has the form of a well-known key, is
    masked as well.
    """
    return masked_urls(_masked(text, secrets, _is_value))


def mask_written(text: str, secrets: Collection[str] = ()) -> str:
    """Return what a person or a model wrote without secrets; code and prose stay readable.

    Other than in what tools give and get, `tokens = text.split()` and "tokens: many" are no
    secrets: behind a key, only what looks like a secret is masked.

    Args:
        text: What was written.
        secrets: Values that must not be shown, as for `mask`.
    """
    return masked_urls(_masked(text, secrets, _looks_secret))


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables whose names say that they are secrets.

    Of an address with a password, whatever its variable's name is, it is the password.
    """
    return tuple(
        value
        for name, whole in environment.items()
        for value in (whole if _is_secret_name(name) else "", *_passwords(whole))
        if len(value) >= _SHORTEST
    )


def _is_secret_name(name: str) -> bool:
    # A shell's working folder, which is no password.
    return name != "PWD" and _SECRET_NAME.search(name) is not None


def _passwords(value: str) -> Iterator[str]:
    if "://" in value and (found := _PASSWORD.search(value)):
        password = found["password"]
        yield password
        if (plain := unquote(password)) != password:
            yield plain


def _masked(text: str, secrets: Collection[str], is_secret: _IsSecret) -> str:
    def hidden(found: re.Match[str]) -> str:
        return f"{found['key']}{_quoted(found['value'])}" if is_secret(found) else found[0]

    text = _without(secrets, text)
    text = _PEM.sub(rf"\1{MASK}", text)
    text = _HEADER.sub(lambda found: hidden(found) if _is_header(found) else found[0], text)
    text = _KEYED.sub(hidden, text)
    text = _FLAG.sub(lambda found: hidden(found) if _looks_like_key(found) else found[0], text)
    text = _BEARER.sub(lambda found: f"{found['key']}{MASK}" if _is_sent(found) else found[0], text)
    return KEY_FORMS.sub(MASK, text)


def _without(secrets: Collection[str], text: str) -> str:
    known = {form for secret in secrets if len(secret) >= _SHORTEST for form in _written(secret)}
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _written(secret: str) -> set[str]:
    """Return a value as it stands, as JSON has it, and as an address has it."""
    return {secret, json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe="")}


def _quoted(value: str) -> str:
    if (found := _OPENED.match(value)) is None:
        return MASK
    end = found[1] if value.endswith(found[1]) and len(value) > found.end() else ""
    return f"{found[0]}{MASK}{end}"


def _bare(found: re.Match[str]) -> str:
    value = found["value"]
    opened = _OPENED.match(value)
    return value[opened.end() :].rstrip("\"'`\\") if opened else value


def _is_value(found: re.Match[str]) -> bool:
    """Whether what stands behind a key is a value at all."""
    bare = _bare(found)
    if bare.lower() in _NOTHING or MASK in bare:
        return False
    if found.groupdict().get("loose") or found["name"] == "code":
        return _looks_like_key(found)
    if _NUMBER.fullmatch(bare):
        return _MAYBE_A_NUMBER.search(found["name"] or "") is not None
    return re.match(r"\w{1,20}://", bare) is None


def _looks_secret(found: re.Match[str]) -> bool:
    """Whether what stands behind a key looks like a secret, rather than like code or prose."""
    bare = _bare(found)
    if not _is_value(found) or len(bare) < _SHORTEST or _NUMBER.fullmatch(bare):
        return False
    if (found["name"] or "").lower() in ("authorization", "cookie"):
        return bool(_PAIR.match(bare) or _SCHEME_AND_KEY.match(bare) or _is_random(bare))
    if _OPENED.match(found["value"]):
        return not _STANDS_FOR.search(bare) and (_has_digit(bare) or not re.search(r"\s", bare))
    if _CODE_CHARACTERS & set(bare) or _STANDS_FOR.match(bare):
        return False
    return _has_digit(bare) or _is_variable(found) or _is_random(bare)


def _is_variable(found: re.Match[str]) -> bool:
    """Whether it is a line of an environment: `DB_PASSWORD=…`."""
    name = found["name"] or ""
    return name.isupper() and found["key"].endswith("=")


def _is_random(bare: str) -> bool:
    """Whether letters alone are no word: `aBcdEFghIJklMNop`."""
    changes = sum(a.islower() and b.isupper() for a, b in pairwise(bare))
    return len(bare) >= _LONG and bare.isalnum() and 6 * changes >= len(bare)


def _looks_like_key(found: re.Match[str]) -> bool:
    bare = _bare(found)
    is_fit = (
        len(bare) >= _SHORTEST and not _CODE_CHARACTERS & set(bare) and not re.search(r"\s", bare)
    )
    return is_fit and _has_digit(bare) and any(map(str.isalpha, bare)) and MASK not in bare


def _is_header(found: re.Match[str]) -> bool:
    value = found["value"]
    return bool(_PAIR.match(value) or _SCHEME_AND_KEY.match(value))


def _is_sent(found: re.Match[str]) -> bool:
    """Whether what follows "bearer" or "basic" is what is sent with it."""
    if found["name"].lower() == "bearer":
        return _looks_like_key(found) or len(found["value"]) >= 24
    try:
        return ":" in b64decode(found["value"][:512], validate=True).decode("latin-1")
    except binascii.Error:
        return False


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))
