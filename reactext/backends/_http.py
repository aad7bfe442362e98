"""The one place that speaks HTTP: where a server is, how long we wait, what is left open.

Nothing is sent again here (`_retry` does that), and no reply is understood here beyond its status
(`_faults` does that).
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

from reactext.backends._faults import fault
from reactext.backends._wire import WatchedAdapter, Wire, watching
from reactext.cancellation import Cancellation
from reactext.errors import CompletionError, ServerFault, ServerUnreachable, SetupError, StreamCut

LONGEST_ERROR = 1024 * 1024
_CONNECTIONS = 64
_SEND_OFF = 0.25
"""Seconds to wait for the last bytes of a complete reply, for the connection's sake alone."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How many seconds to wait.

    ``connect`` until the server takes the connection; ``first`` until the first sign of the
    text, which includes queueing, loading the model and evaluating the prompt; ``gap`` between
    two pieces of the text; ``ask`` for an answer about the model.
    """

    connect: float = 5.0
    first: float = 600.0
    gap: float = 120.0
    ask: float = 30.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise SetupError(f"the timeout {name}={getattr(self, name)!r} must be above 0")


class Reply:
    """A reply that is being streamed; made by `Origin.stream`."""

    def __init__(self, origin: Origin, response: requests.Response, wire: Wire) -> None:
        self._origin = origin
        self._wire = wire
        self.content_type = response.headers.get("Content-Type", "")
        # without chunks or a length, larger reads wait until they are full
        framed = "Transfer-Encoding" in response.headers or "Content-Length" in response.headers
        self._content = response.iter_content(chunk_size=None if framed else 1)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes as they come; raises `CompletionError` when they stop coming.

        Comments of a stream of events keep its connection alive but are no sign of the text.
        """
        timeouts = self._origin.timeouts
        limit, since = timeouts.first, time.monotonic()
        while True:
            try:
                chunk = next(self._content)
            except StopIteration:
                return
            except (requests.RequestException, HTTPError, OSError) as error:
                raise self._origin.broken(error, limit) from error
            now = time.monotonic()
            if chunk.startswith(b":"):
                if now - since > limit:
                    raise self._origin.silent(limit)
            else:
                if limit != timeouts.gap:
                    limit = timeouts.gap
                    self._wire.wait_at_most(limit)
                since = now
            yield chunk

    def wait_at_most(self, seconds: float) -> None:
        """Let the next chunk fail after so many seconds without a byte."""
        self._wire.wait_at_most(seconds)

    def send_off(self) -> None:
        """Take the last bytes of a reply that is complete, so that its connection serves again."""
        if self._origin.keep_alive:
            self._wire.wait_at_most(_SEND_OFF)
            with contextlib.suppress(requests.RequestException, HTTPError, OSError, StopIteration):
                next(self._content)


class Origin:
    """A server, as seen from here; shared by threads.

    ``remedy`` is what to do when nothing answers there.
    """

    def __init__(
        self,
        url: str,
        *,
        timeouts: Timeouts,
        headers: Mapping[str, str] | None = None,
        keep_alive: bool = True,
        remedy: str = "",
    ) -> None:
        self.url = checked_url(url)
        self.timeouts = timeouts
        self.keep_alive = keep_alive
        self._remedy = remedy
        self._headers = {
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": "reactext",
            **({} if keep_alive else {"Connection": "close"}),
            **(headers or {}),
        }
        self._adapter = WatchedAdapter(pool_maxsize=_CONNECTIONS)
        self._surroundings = _surroundings(self.url)
        self._prepared: dict[tuple[str, str], requests.PreparedRequest] = {}

    def close(self) -> None:
        """Close the connections that wait for another request."""
        self._adapter.close()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Return the JSON that the server answers with; raises `CompletionError`."""
        wire = Wire()
        limit = self.timeouts.ask
        response = self._send(wire, method, path, body, limit)
        with response:
            content = self._content(response, limit)
        if response.status_code != 200:
            raise fault(response.status_code, content, url=self.url + path)
        try:
            return json.loads(content)
        except ValueError as error:
            raise ServerFault(
                f"{self.url}{path} answered with something that is not JSON: {content[:80]!r}",
                remedy="is this the address of the right server?",
                status=200,
            ) from error

    def _content(self, response: requests.Response, limit: float) -> bytes:
        try:
            return response.content
        except (requests.RequestException, HTTPError, OSError) as error:
            raise self.broken(error, limit) from error

    @contextlib.contextmanager
    def stream(self, path: str, body: object, cancellation: Cancellation | None) -> Iterator[Reply]:
        """Post the body and give the reply to be read; it is closed at the end of the block.

        A cancellation cuts the connection, from whichever thread it comes and whatever is
        waited for.
        """
        wire = Wire()
        forget = cancellation.on_cancel(wire.cut) if cancellation else None
        try:
            response = self._send(wire, "POST", path, body, self.timeouts.first)
            with response:
                if response.status_code != 200:
                    self._refuse(response, path)
                yield Reply(self, response, wire)
        finally:
            wire.release()
            if forget is not None:
                forget()

    def _refuse(self, response: requests.Response, path: str) -> None:
        content = b""
        with contextlib.suppress(requests.RequestException, HTTPError, OSError):
            for chunk in response.iter_content(8192):
                content += chunk
                if len(content) > LONGEST_ERROR:
                    break
        error = fault(response.status_code, content, url=self.url + path)
        error.retry_after = _seconds(response.headers.get("Retry-After"))
        raise error

    def _send(
        self, wire: Wire, method: str, path: str, body: object, limit: float
    ) -> requests.Response:
        request = self._request(method, path, body)
        try:
            with watching(wire):
                return self._adapter.send(
                    request,
                    stream=True,
                    timeout=(self.timeouts.connect, limit),
                    **self._surroundings,
                )
        except (requests.RequestException, HTTPError, OSError) as error:
            raise self.unreached(error, limit) from error

    def _request(self, method: str, path: str, body: object) -> requests.PreparedRequest:
        key = (method, path)
        if key not in self._prepared:
            made = requests.Request(method, self.url + path, headers=self._headers)
            self._prepared[key] = made.prepare()
        request = self._prepared[key].copy()
        if body is not None:
            request.body = json.dumps(body).encode("ascii")
            request.headers["Content-Length"] = str(len(request.body))
        return request

    def unreached(self, error: Exception, limit: float) -> CompletionError:
        """Say why no answer came."""
        if isinstance(error, requests.ReadTimeout):
            return self.silent(limit)
        if isinstance(error, requests.exceptions.SSLError):
            reason, remedy = "its certificate is not accepted", "set REQUESTS_CA_BUNDLE to your CA"
        elif isinstance(error, requests.exceptions.ProxyError):
            reason, remedy = "the proxy does not reach it", "set NO_PROXY for this host"
        elif isinstance(error, requests.ConnectTimeout):
            seconds = self.timeouts.connect
            reason, remedy = f"no connection within {seconds:g} s", self._remedy
        else:
            reason, remedy = _reason(error), self._remedy
        return ServerUnreachable(f"{self.url} cannot be reached: {reason}", remedy=remedy)

    def broken(self, error: Exception, limit: float) -> CompletionError:
        """Say why an answer that had begun did not go on."""
        if error.args and isinstance(error.args[0], ReadTimeoutError):
            return self.silent(limit)
        return StreamCut(
            f"{self.url} closed the connection in the middle of its answer ({_reason(error)})",
            remedy="look into the server's log; the same request may work again",
        )

    def silent(self, seconds: float) -> CompletionError:
        """Say that nothing came for so long."""
        return ServerUnreachable(
            f"{self.url} sent nothing for {seconds:g} s",
            remedy="give it more time with timeouts=Timeouts(first=…, gap=…)",
        )


def checked_url(url: str) -> str:
    """Return the address without its last slash; raises `SetupError` for what is none."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise SetupError(f"{url!r} is not the address of a server; write it as http://host:port")
    if parts.username or parts.password:
        raise SetupError(
            f"the address of {host} must not hold a user or password; give headers=, or api_key= "
            "where there is one"
        )
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Say whether the address is this very machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _surroundings(url: str) -> dict[str, Any]:
    """Proxies and certificates from the environment; none of them for this very machine.

    Authorisation is never taken from there: a matching netrc entry would override the given key.
    """
    if is_loopback(url):
        return {"proxies": {}, "verify": True, "cert": None}
    with requests.Session() as session:
        found = session.merge_environment_settings(url, {}, None, None, None)
    return {name: found[name] for name in ("proxies", "verify", "cert")}


def _reason(error: BaseException) -> str:
    """The innermost sentence of a fault: those around it repeat it with addresses of objects."""
    inner = error
    while True:
        within = getattr(inner, "reason", None) or next(
            (part for part in inner.args if isinstance(part, BaseException)), None
        )
        if not isinstance(within, BaseException):
            break
        inner = within
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror.lower()
    cause = inner.__cause__
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror.lower()
    return str(inner) or type(inner).__name__


def _seconds(text: str | None) -> float | None:
    """The value of Retry-After, where it is a number; a date is not worth the reading."""
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None
