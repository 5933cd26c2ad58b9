"""Checks of access to a configured Prefect server: which setting is wrong, if any."""

from __future__ import annotations

import logging
import re
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from urllib.parse import urlsplit
from uuid import UUID

from ...errors import ServerError
from ...host.network import PREFECT_CA_FIX, certificate_problem
from ...host.secrets import masked_urls
from ...metrics.clock import Stretch, run_time

if TYPE_CHECKING:
    import httpx
    from prefect.exceptions import PrefectHTTPStatusError
    from prefect.settings import Settings

__all__ = [
    "BackoffNotes",
    "Opening",
    "Unusable",
    "find_fault",
    "find_opening",
    "judge_answer",
    "judge_opening",
    "refusal_of",
    "say_backoffs",
    "server_waits",
    "shown_address",
]


_PROBE = f"flow_runs/{UUID(int=0)}"
"""What each server knows the way to, and none lets be read without a login."""
_STRANGER = "https://page.example"
"""An origin that no server has a reason to trust."""
_BUSY = (408, 429, 503)
"""Prefect's client waits and asks again."""
_START = (
    "Start it (`prefect server start`), or unset PREFECT_API_URL (`prefect config unset "
    "PREFECT_API_URL`) to use a temporary one."
)
_LOGINS = (
    "Set PREFECT_API_KEY for Prefect Cloud, PREFECT_API_AUTH_STRING=user:password for a server "
    "with a password, or PREFECT_CLIENT_CUSTOM_HEADERS for a login in front of the server."
)
_PAGE = (
    "Check PREFECT_API_URL: it ends in /api, or names a workspace of Prefect Cloud. Where a login "
    "stands in front of the server, set PREFECT_CLIENT_CUSTOM_HEADERS to the headers that it takes."
)


Kind = Literal["own", "page", "no way"]


class Unusable(NamedTuple):
    """Why a server can't be used.

    Attributes:
        why: Such as "it asks for a login (401)".
        fix: What to do.
        is_setting: Whether a setting is wrong; else it may be that it doesn't run just now.
    """

    why: str
    fix: str
    is_setting: bool = True

    def error(self, url: str) -> ServerError:
        """Return what is raised for the server at an address."""
        url = shown_address(url)
        if self.is_setting:
            return ServerError(f"The Prefect server at {url} can't be used: {self.why}.", self.fix)
        return ServerError(f"No Prefect server answers at {url}: {self.why}.", self.fix)


def find_fault(url: str, timeout_s: float = 5.0) -> Unusable | None:
    """Ask the server as Prefect's client would, once; None if it can be used."""
    import httpx
    from prefect.settings import get_current_settings

    settings = get_current_settings()
    headers = _headers(settings)
    try:
        with httpx.Client(
            headers=headers, timeout=timeout_s, follow_redirects=True, verify=_verify(url, settings)
        ) as client:
            try:
                answer = client.get(f"{url.rstrip('/')}/{_PROBE}")
            except httpx.ReadTimeout:
                # Its database may be busy with other runs: this asks nothing of it.
                answer = client.get(f"{url.rstrip('/')}/health")
    except httpx.ProxyError as error:
        fix = "Check HTTP_PROXY and HTTPS_PROXY, or add the server's host to NO_PROXY."
        return Unusable(f"the proxy says {error}", fix)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        return Unusable(f"it is not an address: {str(error).rstrip('.')}", _PAGE)
    except (httpx.HTTPError, OSError) as error:
        if problem := certificate_problem(error):
            return Unusable(f"its certificate isn't accepted: {problem}", PREFECT_CA_FIX)
        return Unusable(str(error) or type(error).__name__, _START, is_setting=False)
    return judge_answer(answer.status_code, _kind(answer), _way(answer), headers)


class Opening(NamedTuple):
    """What a server lets everybody do who reaches it.

    Attributes:
        to_all: Read and approve, without a login.
        to_pages: And any web page that a browser on such a machine shows may do so.
    """

    to_all: bool
    to_pages: bool


def find_opening(url: str, timeout_s: float = 5.0) -> Opening | None:
    """Ask the server once without a login, as a web page would; None if that says nothing."""
    import httpx
    from prefect.settings import get_current_settings

    try:
        with httpx.Client(
            headers={"Origin": _STRANGER},
            timeout=timeout_s,
            verify=_verify(url, get_current_settings()),
        ) as client:
            answer = client.get(f"{_without_user(url).rstrip('/')}/{_PROBE}")
    except (httpx.HTTPError, httpx.InvalidURL, OSError):
        return None
    allowed = answer.headers.get("access-control-allow-origin", "")
    return judge_opening(answer.status_code, _kind(answer), allowed)


def judge_opening(status: int, kind: Kind, allowed_origin: str) -> Opening | None:
    """Say whom a server lets in by what it answered a stranger; None if that is open. Pure.

    Args:
        status: The answer's status.
        kind: What it is.
        allowed_origin: The origin whose pages may read the answer; "" for none.
    """
    if status in (401, 403, 407) or kind == "page":
        return Opening(to_all=False, to_pages=False)
    if status in _BUSY or status >= 500 or kind == "no way":
        return None
    return Opening(to_all=True, to_pages=allowed_origin in ("*", _STRANGER))


def shown_address(url: str) -> str:
    """Return an address as people are shown it: without its user, other secrets masked."""
    return masked_urls(_without_user(url))


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in url else url


def refusal_of(error: PrefectHTTPStatusError) -> ServerError | None:
    """Return what a server says that refuses a single request; None for other answers.

    A key may read and not write, and a login may end while a run goes on.
    """
    status, request = error.response.status_code, error.request
    if status not in (401, 403):
        return None
    fault = judge_answer(status, "own", "", request.headers)
    way = f"{request.method} {request.url.path}"
    why = f"{fault.why} for {way}" if fault else way
    address = f"{request.url.scheme}://{request.url.netloc.decode()}"
    return Unusable(why, fault.fix if fault else _LOGINS).error(address)


def judge_answer(status: int, kind: Kind, way: str, headers: Mapping[str, str]) -> Unusable | None:
    """Say what is wrong by what a server answered; None for nothing. Pure.

    Args:
        status: The answer's status.
        kind: What it is: Prefect's own, a page for people, or that there is no such way.
        way: Where the answer came from, if that isn't where it was asked for; "" else.
        headers: What was sent.
    """
    if status == 401:
        sent = "Authorization" in headers
        why = "it refuses the key or password" if sent else "it asks for a login"
        return Unusable(f"{why} (401)", f"Check them. {_LOGINS}" if sent else _LOGINS)
    if status == 403:
        return Unusable("it forbids what is asked (403)", f"Check what the key may do. {_LOGINS}")
    if status == 407:
        fix = "Put the user and password into HTTP_PROXY and HTTPS_PROXY: http://user:password@…"
        return Unusable("the proxy asks for a login (407)", fix)
    if status in _BUSY:
        return None
    if status >= 500:
        return Unusable(f"it answers {status}", _START, is_setting=False)
    if kind == "no way":
        return Unusable(f"it is not Prefect's API ({status})", _PAGE)
    if kind == "page":
        led = f", at {way}" if way else ""
        return Unusable(f"it answers with a page for people, such as a login's{led}", _PAGE)
    return None


def _headers(settings: Settings) -> dict[str, str]:
    """Return the headers that Prefect's client sends."""
    from base64 import b64encode

    headers = dict(settings.client.custom_headers)
    if login := settings.api.auth_string:
        token = b64encode(login.get_secret_value().encode()).decode()
        headers["Authorization"] = f"Basic {token}"
    elif key := settings.api.key:
        headers["Authorization"] = f"Bearer {key.get_secret_value()}"
    return headers


def _verify(url: str, settings: Settings) -> ssl.SSLContext | bool:
    if not url.lower().startswith("https") or settings.api.tls_insecure_skip_verify:
        return False  # Plain HTTP needs none, and reading all certificates takes a moment.
    import certifi

    return ssl.create_default_context(cafile=settings.api.ssl_cert_file or certifi.where())


def _kind(answer: httpx.Response) -> Kind:
    if "html" in answer.headers.get("content-type", "").lower():
        return "page"
    if answer.url.path.endswith("/health"):
        return "own"
    try:
        found: Any = answer.json()
    except ValueError:
        return "no way"
    says = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    # What FastAPI says of a way that it doesn't know; Prefect's own says that no run is there.
    is_own = bool(says) and says != {"detail": "Not Found"}
    return "own" if is_own and (answer.status_code != _OK or "id" in says) else "no way"


_OK = 200


def _way(answer: httpx.Response) -> str:
    """Return where a redirection led, without what may be secret in it."""
    if not answer.history:
        return ""
    return f"{answer.url.scheme}://{answer.url.netloc.decode()}{answer.url.path}"


_logger = logging.getLogger("prefect_swarm.server")
_CLIENT = "prefect.client"
_SECONDS = re.compile(r"Another attempt will be made in ([\d.]+) ?s")
_STATUS = re.compile(r"status code (\d{3})")


class BackoffNotes(logging.Filter):
    """Reads what the client logs for developers; one sentence for all that wait at a time."""

    def __init__(self, was_enabled: Callable[[], bool], clock: Callable[[], float]) -> None:
        """Take whether what is read is to be logged, too, and seconds that only rise."""
        super().__init__()
        self._was_enabled, self._clock = was_enabled, clock
        self._until = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Say it, and let the record go where it would have gone."""
        message = record.getMessage()
        if found := _SECONDS.search(message):
            self._say(float(found[1]), _STATUS.search(message))
        return record.levelno > logging.DEBUG or self._was_enabled()

    def _say(self, seconds: float, status: re.Match[str] | None) -> None:
        now = self._clock()
        if now < self._until:
            return
        self._until = now + seconds
        began_at = run_time()
        _waits.append(Stretch(kind="server", started_at=began_at, ended_at=began_at + seconds))
        why = f"is busy: it answers {status[1]}" if status else "gives no answer"
        _logger.warning("The Prefect server %s. It is asked again in %.0f s.", why, seconds)


_waits: deque[Stretch] = deque(maxlen=1_000)


def server_waits() -> tuple[Stretch, ...]:
    """Return when Prefect's client waited before it asked the server again, in this process."""
    return tuple(_waits)


def say_backoffs() -> None:
    """Have what Prefect's client waits for said from now on, in this process."""
    client = logging.getLogger(_CLIENT)
    if any(isinstance(each, BackoffNotes) for each in client.filters):
        client.setLevel(logging.DEBUG)  # Prefect may have set it anew.
        return
    own, parent = client.level, client.parent

    def was_enabled() -> bool:
        level = own or (parent.getEffectiveLevel() if parent else logging.WARNING)
        return level <= logging.DEBUG

    client.addFilter(BackoffNotes(was_enabled, time.monotonic))
    client.setLevel(logging.DEBUG)
