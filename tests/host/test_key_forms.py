"""Keys are masked in the forms that they usually have, and what only looks like them stays."""

from __future__ import annotations

import base64
import hashlib
import json
import uuid
from collections.abc import Callable
from urllib.parse import quote

import pytest
from prefect_swarm.host.secrets import MASK, mask, mask_written, secrets_in

Hide = Callable[..., str]
MASKS = pytest.mark.parametrize("hide", [mask, mask_written])

HIDDEN = "s3cr3t-value-17"
MIXED = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6kL9n"
HEX = hashlib.sha256(b"a key").hexdigest()
UPPER = MIXED.upper()

# Put together here, so that no file has the whole form of a key.
FORMS = {
    "OpenAI": "sk-" + MIXED,
    "OpenAI, of a project": "sk-" + "proj-" + MIXED[:20] + "_" + MIXED,
    "OpenAI, of letters": "sk-" + "abcdefghijklmnopqrstuvwx",
    "Anthropic": "sk-" + "ant-api03-" + MIXED + "-" + MIXED,
    "OpenRouter": "sk-" + "or-v1-" + HEX,
    "DeepSeek": "sk-" + HEX[:32],
    "Google": "AIza" + "Sy" + MIXED[:33],
    "Google, for a while": "ya29." + MIXED,
    "Google, of a client": "GOCSPX-" + MIXED[:28],
    "Hugging Face": "hf_" + MIXED[:34],
    "Groq": "gsk_" + MIXED + MIXED[:12],
    "xAI": "xai-" + MIXED + MIXED,
    "Perplexity": "pplx-" + MIXED,
    "Replicate": "r8_" + MIXED[:37],
    "NVIDIA": "nvapi-" + MIXED,
    "Cerebras": "csk-" + MIXED.lower(),
    "Tavily": "tvly-" + "dev-" + MIXED[:32],
    "LangSmith": "lsv2_" + "pt_" + HEX[:32] + "_" + HEX[:10],
    "AWS": "AKIA" + UPPER[:16],
    "AWS, for a while": "ASIA" + UPPER[:16],
    "GitHub": "ghp_" + MIXED[:36],
    "GitHub, by OAuth": "gho_" + MIXED[:36],
    "GitHub, of a server": "ghs_" + MIXED[:36],
    "GitHub, fine": "github_" + "pat_" + MIXED[:22] + "_" + MIXED,
    "GitLab": "glpat-" + MIXED[:20],
    "GitLab, of a runner": "glrt-" + MIXED[:20],
    "npm": "npm_" + MIXED[:36],
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + MIXED,
    "Docker": "dckr_" + "pat_" + MIXED[:27],
    "Prefect": "pnu_" + MIXED[:36],
    "Prefect, of a bot": "pnb_" + MIXED[:36],
    "Atlassian": "ATATT3" + MIXED + "=" + UPPER[:8],
    "DigitalOcean": "dop_" + "v1_" + HEX,
    "Databricks": "dapi" + HEX[:32],
    "Vault": "hvs." + MIXED,
    "Azure, of a client": "aB8" + "8Q~" + MIXED[:34],
    "Doppler": "dp." + "pt." + MIXED,
    "Stripe": "sk_" + "live_" + MIXED[:24],
    "Stripe, restricted": "rk_" + "live_" + MIXED[:24],
    "Stripe, of hooks": "whsec_" + MIXED[:32],
    "Slack, of a bot": "xoxb-" + "123456789012-1234567890123-" + MIXED[:24],
    "Slack, of a user": "xoxp-" + "123456789012-1234567890123-" + HEX[:32],
    "Slack, of an app": "xapp-" + "1-A0123456789-1234567890123-" + HEX,
    "Slack, a hook": "https://hooks." + "slack.com/services/T01234567/B01234567/" + MIXED[:24],
    "SendGrid": "SG." + MIXED[:22] + "." + MIXED + "abc",
    "Twilio": "SK" + HEX[:32],
    "Mailgun": "key-" + HEX[:32],
    "Telegram": "123456789:" + "AA" + MIXED[:33],
    "Discord": "M" + MIXED[:23] + "." + MIXED[:6] + "." + MIXED[:27],
    "Shopify": "shpat_" + HEX[:32],
    "Notion": "ntn_" + MIXED,
    "a web token": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxIn0.abc-_def",
    "a web token without a signature": "eyJ" + "hbGciOiJub25lIn0.eyJ" + "zdWIiOiIxIn0.",
    "age": "AGE-" + "SECRET-KEY-1" + UPPER,
}

PEM = "-----BEGIN {0}-----\n" + MIXED + "\n" + MIXED + "\n-----END {0}-----"
KINDS_OF_PEM = [
    f"{kind}PRIVATE KEY{block}"
    for kind, block in [
        ("", ""),
        ("RSA ", ""),
        ("EC ", ""),
        ("OPENSSH ", ""),
        ("ENCRYPTED ", ""),
        ("PGP ", " BLOCK"),
    ]
]

PLACES = [
    f"Authorization: Bearer {HIDDEN}",
    f"authorization: bearer {HIDDEN}",
    f"Proxy-Authorization: Basic dXNlcjpz{HIDDEN}",
    f"Authorization: Digest username=me, response={HIDDEN}",
    f"x-api-key: {HIDDEN}",
    f"X-Goog-Api-Key: {HIDDEN}",
    f"api-key: {HIDDEN}",
    f"Cookie: theme=dark; sid={HIDDEN}",
    f"Set-Cookie: session={HIDDEN}; Path=/; HttpOnly",
    f"https://user:{HIDDEN}@example.com/x",
    f"https://user:with@{HIDDEN}@example.com/x",
    f"postgresql+asyncpg://me:{HIDDEN}@db:5432/x",
    f"redis://:{HIDDEN}@localhost:6379/0",
    f"https://{HIDDEN}{HIDDEN}@sentry.example.com/1",
    f"https://example.com/v1?key={HIDDEN}&alt=sse",
    f"GET /a?page=1&token={HIDDEN} HTTP/1.1",
    f"https://example.com/?access_token={HIDDEN}#top",
    f"https://x.blob.core.windows.net/c?sv=2024&sig={HIDDEN}",
    f"https://b.s3.amazonaws.com/k?X-Amz-Signature={HIDDEN}",
    f"password={HIDDEN}",
    f"password: {HIDDEN}",
    f"passphrase: '{HIDDEN}'",
    f"PGPASSWORD={HIDDEN} psql",
    f"OPENAI_API_KEY={HIDDEN}",
    f"export AWS_SECRET_ACCESS_KEY='{HIDDEN}'",
    f"MY_SERVICE_KEY={HIDDEN}",
    f'os.environ["API_KEY"] = "{HIDDEN}"',
    f"aws_session_token = {HIDDEN}",
    f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={HIDDEN}==;EndpointSuffix=x",
    f"Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={HIDDEN}=",
    f"Server=tcp:s;User ID=sa;Pwd={HIDDEN};Encrypt=True",
    f'{{"api_key": "{HIDDEN}"}}',
    f'{{"apiKey":"{HIDDEN}"}}',
    f'{{"client_secret": "{HIDDEN}"}}',
    f'{{"accessToken": "{HIDDEN}", "token_type": "bearer"}}',
    f'{{"name": "API_KEY", "value": "{HIDDEN}"}}',
    f'{{\\"password\\": \\"{HIDDEN}\\"}}',
    f'{{\\\\\\"password\\\\\\": \\\\\\"{HIDDEN}\\\\\\"}}',
    f"{{'password': '{HIDDEN}'}}",
    f"[(b'authorization', b'Bearer {HIDDEN}')]",
    f'("x-api-key", "{HIDDEN}")',
    f"<password>{HIDDEN}</password>",
    f"curl -u me:{HIDDEN} https://example.com",
    f"mysql --password {HIDDEN}",
    f"tool --api-key={HIDDEN}",
    f"machine example.com login me password {HIDDEN}",
    f"//npm.example/:_authToken={HIDDEN}",
    f"**Password**: {HIDDEN}",
    f"`token`: `{HIDDEN}`",
    f'password = """{HIDDEN}"""',
    f"Incorrect API key provided: {HIDDEN}",
    f"the password is {HIDDEN}",
    f'{{"password": "{HIDDEN}',
    "Authorization: Basic " + base64.b64encode(f"me:{HIDDEN}".encode()).decode(),
    "sent with Basic " + base64.b64encode(f"me:{HIDDEN}".encode()).decode(),
    f"bearer {HIDDEN}",
]
ENCODED = base64.b64encode(f"me:{HIDDEN}".encode()).decode()

DIGEST = hashlib.sha256(b"a text").hexdigest()
PICTURE = base64.b64encode(bytes(range(256)) * 30).decode()
ORDINARY = [
    f"commit {hashlib.sha256(b'x').hexdigest()[:40]}",
    f"sha256:{DIGEST}",
    f"{hashlib.md5(b'x').hexdigest()}  file.txt",  # noqa: S324
    f"the run {uuid.UUID(int=17 << 90)} ended",
    f"inspect {uuid.UUID(int=5**50)} --step S1",
    f'<img src="data:image/png;base64,{PICTURE}">',
    f"![a picture](data:image/png;base64,{PICTURE})",
    '{"max_tokens": 4096, "prompt_tokens": 12, "tokenizer": "bpe-2"}',
    '{"usage": {"input_tokens": 1200, "token_count": 7}}',
    '{"token_type": "bearer", "token_limit": 1000}',
    '{"primary_key": "user_id1", "cache_key": "v1:abc123", "key": "name1"}',
    "A secretary wrote that the basic understanding of bearer instruments is enough.",
    "The password must be at least 12 characters long.",
    "Keys such as risk-averse-investors-of-2024 or task-force-1234567890 are none.",
    "git@github.com:owner/name.git",
    "https://example.com:8080/@user/posts?page=2&sort=asc",
    "docker run -u 1000:1000 -p 8080:80 image",
    "sk-SK, sk-learn and .sk-toggleable__content are names",
    "the 12:30:45 train, ratio 1234567:89, 2026-11-26T12:30:45Z",
    "hf_transfer, npm_config_registry and gh_actions are names",
    "def f(token: str, api_key: str | None = None) -> None: ...",
    "monkey: banana1, keyboard: german2",
    "Cookies are small texts that a browser keeps.",
]
CODE_AND_PROSE = [
    "Authorization: required for all users",
    "Cookie: chocolate chip",
    "api_key=os.environ.get('KEY')",
    'token = os.environ["API_TOKEN"]',
    "password: ${DB_PASSWORD}",
    'password = "<your password>"',
    "secret = secrets.token_hex(16)",
    "The token: a word, or a part of one.",
]


@pytest.mark.attack("keys")
@MASKS
@pytest.mark.parametrize("form", [*FORMS])
def test_a_key_is_masked_wherever_it_stands(form: str, hide: Hide) -> None:
    key = FORMS[form]
    secret = key[-16:]
    for text in (
        key,
        f"it is {key}.",
        f'"{key}"',
        f"({key})",
        f"/{key}/",
        f"x={key}&y=1",
        f"-{key}",
    ):
        assert secret not in hide(text), text
        assert MASK in hide(text)


@pytest.mark.attack("keys")
@MASKS
@pytest.mark.parametrize("kind", KINDS_OF_PEM)
def test_a_private_key_is_masked_as_a_whole(kind: str, hide: Hide) -> None:
    key = PEM.format(kind)
    for text in (key, key.replace("\n", "\\n"), key[: key.index("-----END")], f'{{"k": "{key}"}}'):
        shown = hide(f"before {text} after")
        assert MIXED not in shown
        assert "before" in shown


@pytest.mark.attack("keys")
@MASKS
@pytest.mark.parametrize("text", PLACES)
def test_a_secret_is_masked_behind_what_names_it(text: str, hide: Hide) -> None:
    shown = hide(text)
    assert HIDDEN not in shown
    assert ENCODED not in shown
    assert MASK in shown
    assert hide(shown) == shown


@MASKS
@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_no_secret_stays(text: str, hide: Hide) -> None:
    assert hide(text) == text


@pytest.mark.parametrize("text", CODE_AND_PROSE)
def test_code_and_prose_stay_as_they_were_written(text: str) -> None:
    assert mask_written(text) == text


@MASKS
def test_what_stands_beside_a_secret_stays(hide: Hide) -> None:
    assert hide(f'{{"user": "me", "password": "{HIDDEN}", "page": 3}}') == (
        f'{{"user": "me", "password": "{MASK}", "page": 3}}'
    )
    # A user may be the key itself, so that it goes with the password.
    assert hide(f"https://me:{HIDDEN}@example.com/a?b=1") == f"https://{MASK}@example.com/a?b=1"
    assert hide(f"a?token={HIDDEN}&page=2") == f"a?token={MASK}&page=2"


@pytest.mark.attack("keys")
@MASKS
@pytest.mark.parametrize("secret", ['a"quoted\\value', "p@ss/word?", "zwölf-boxkämpfer"])
def test_a_known_value_is_masked_as_json_and_addresses_have_it(secret: str, hide: Hide) -> None:
    for text in (secret, json.dumps({"x": secret}, ensure_ascii=False), f"?x={quote(secret, '')}"):
        assert hide(text, {secret}) in (MASK, f'{{"x": "{MASK}"}}', f"?x={MASK}")


@pytest.mark.attack("keys")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", f"postgres://me:{HIDDEN}@db/x"),
        ("BROKER", f"amqp://me:{HIDDEN}@mq"),
        ("SSH_PASSPHRASE", HIDDEN),
        ("AZURE_STORAGE_CONNECTION_STRING", HIDDEN),
        ("STORAGE_ACCOUNT_KEY", HIDDEN),
        ("SENTRY_DSN", HIDDEN),
        ("GITHUB_PAT", HIDDEN),
        ("NPM_AUTH", HIDDEN),
    ],
)
def test_a_variable_that_holds_a_secret_is_known(name: str, value: str) -> None:
    assert HIDDEN in secrets_in({name: value, "PATH": "/usr/bin", "HOME": "/home/me"})
