"""What keys look like wherever they stand: each provider's own form.

No form costs more than a few characters of looking ahead, so that a long text costs what a short
one does, for each character. Forms that words and hashes have as well are not among them. Pure.
"""

from __future__ import annotations

import re

__all__ = ["KEY_FORMS"]

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
