"""Wordings of providers' errors are recognised, and no others."""

from __future__ import annotations

import pytest
from prefect_swarm.models.answers.provider_words import (
    Codes,
    is_exhausted,
    is_filtered,
    is_overflow,
    is_too_large_for_its_rate,
    wait_in,
)

NONE = Codes(None, frozenset())

_OVERFLOWS = """
This model's maximum context length is 8191 tokens, however you requested 10346 tokens
prompt is too long: 213462 tokens > 200000 maximum
Your input exceeds the context window of this model. Please adjust your input and try again.
The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)
This model's maximum prompt length is 131072 but the request contains 537812 tokens
Please reduce the length of the messages or completion.
request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it
The number of tokens to keep from the initial prompt is greater than the context length.
Trying to keep the first 4500 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens
Prompt token count of 4662 exceeds max token count of 4095.
invalid params, context window exceeds limit
Your request exceeded model token limit: 131072 (requested: 200000)
length of prompt_tokens (147509) must be less than max_seq_len (65536).
number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.
input length and `max_tokens` exceed context limit: 149674 + 64000 > 204658
<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]
Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length
`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`
The decoder prompt (length 5000) is longer than the maximum model length of 4096.
The input (5000 tokens) is longer than the model's context length (4096 tokens).
prompt too long; exceeded max context length by 4 tokens
Input is too long for requested model.
Request body too large for gpt-4o model. Max size: 8000 tokens.
Requested token count exceeds the model's maximum context length of 4096 tokens.
Current length is 9000 while limit is 8192
max_tokens is too large: 100000. This model supports at most 16384 completion tokens
Invalid max_tokens value, the valid range of max_tokens is [1, 8192]
413 Request Entity Too Large
Prompt 超长
输入内容过长，请减少后重试
请求的tokens数量超过模型最大上下文长度限制
モデルの最大コンテキスト長を超えています
입력 토큰이 최대 컨텍스트 길이를 초과했습니다
Die Anfrage ist zu lang für das Kontextfenster
La solicitud es demasiado larga
Запрос слишком длинный
Prompt has 256468 tokens, but the configured context size is 256000 tokens
The total number of tokens (prompt + completion) 9000 is bigger than the model's limit 8192
Input exceeds the model's limit of 65536
context shift is disabled
n_prompt_tokens >= n_ctx
maximum input tokens is 4096, got 6000
max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude
body.messages.0.content: String should have at most 100000 characters
Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576
No endpoints found that support the context length of 200000
El mensaje supera el límite de contexto
La entrada excede el número máximo de tokens permitidos
Número de tokens excedido
A entrada excede o limite de tokens do modelo
La requête dépasse la longueur maximale du contexte
Le nombre de jetons dépasse la limite du modèle
Le prompt est trop long (9000 tokens, maximum 8192)
L'input supera la lunghezza massima del contesto
Kontext zu lang
Maximale Tokenanzahl überschritten
Verzoek is te lang: contextlengte overschreden
Zapytanie przekracza maksymalną długość kontekstu
Количество токенов превышает лимит модели
Слишком длинный запрос
Giriş çok uzun: bağlam sınırı aşıldı
vượt quá độ dài ngữ cảnh tối đa
تجاوز الحد الأقصى لطول السياق
""".strip().splitlines()  # noqa: E501
_OTHERS = """
System role not supported
Conversation roles must alternate user/assistant/user/assistant/...
After the optional system message, conversation roles must alternate user/assistant
Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.
body.max_completion_tokens: Extra inputs are not permitted
The model strong-model does not exist.
Incorrect API key: sk-…x.
Too many tokens, please wait before trying again.
"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set
'response_format.type' must be 'json_schema' or 'text'
您的请求频率超过限制，请稍后再试
Rate limit reached for tokens per minute. Limit 6000, Used 5034, Requested 1443
strong-model does not support tools
Value error, stream_options can only be set if stream is true
model requires more system memory (10 GiB) than is available (4 GiB)
The cooling has failed.
Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64
Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40
max_tokens must be greater than thinking.budget_tokens
Invalid parameter: 'guardrails' is not a known field
Your account has been flagged for unusual activity
Límite de tokens por minuto superado
Le token d'accès a expiré
messages.1.content.0.image.source.base64: image exceeds 5 MB maximum
""".strip().splitlines()  # noqa: E501


@pytest.mark.parametrize("words", _OVERFLOWS)
def test_a_context_that_is_too_small_is_known_in_all_its_words(words: str) -> None:
    assert is_overflow(words, NONE, 400)


@pytest.mark.parametrize("words", _OTHERS)
def test_what_is_about_something_else_is_neither_a_context_nor_a_filter(words: str) -> None:
    assert not is_overflow(words, NONE, 400)
    assert not is_filtered(words, NONE, 400)
    assert not is_exhausted(words, NONE)


def test_a_name_that_is_too_long_is_no_context_by_its_code() -> None:
    words = "Invalid 'tools[0].function.name': string too long."
    assert not is_overflow(words, Codes(None, frozenset({"string_above_max_length"})), 400)


@pytest.mark.parametrize("code", ["context_length_exceeded", "1261", "exceed_context_size_error"])
def test_a_context_that_is_too_small_is_known_by_its_code(code: str) -> None:
    assert is_overflow("", Codes(None, frozenset({code})), 400)


@pytest.mark.parametrize(
    ("words", "never"),
    [
        ("Request too large for m on tokens per minute: Limit 6000, Requested 12328.", True),
        ("Request too large for gpt-4o (TPM): Limit 30,000, Requested 342,389.", True),
        ("Request too large for model m", True),
        ("Rate limit reached on tokens per day: Limit 100000, Used 97050, Requested 3619.", False),
        ("Rate limit reached.", False),
    ],
)
def test_a_request_that_no_wait_lets_through_is_known(words: str, *, never: bool) -> None:
    assert is_too_large_for_its_rate(words) is never


@pytest.mark.parametrize(
    "words",
    [
        "The response was filtered due to Azure OpenAI's content management policy.",
        "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain "
        "inappropriate content.",
        "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO",
        "Output blocked by content filtering policy",
        "Your prompt was flagged as potentially violating our usage policy.",
        "Content Exists Risk",
        "系统检测到输入或生成内容可能包含不安全或敏感内容",
    ],
)
def test_a_filter_is_known_by_its_words(words: str) -> None:
    assert is_filtered(words, NONE, 400)


@pytest.mark.parametrize("words", ["Insufficient Balance", "您的账户已欠费，请充值后重试。"])
def test_an_account_without_money_is_known_by_its_words(words: str) -> None:
    assert is_exhausted(words, NONE)


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Please try again in 9m38.016s.", 578.016),
        ("Please try again in 4.77s", 4.77),
        ("try again in 500ms", 0.5),
        ("Please retry after 20 seconds", 20),
        ("Retry after 2h", 7200),
        ("try again in 1 minute", 60),
        ("Please wait before trying again", None),
        ("Rate limit reached.", None),
    ],
)
def test_a_wait_is_read_from_words(words: str, seconds: float | None) -> None:
    found = wait_in(words)
    assert found == (None if seconds is None else pytest.approx(seconds))
