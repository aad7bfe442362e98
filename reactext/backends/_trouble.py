"""The faults of connections, which requests and urllib3 raise, become ours here."""

from __future__ import annotations

from http.client import HTTPException
from typing import NamedTuple

import requests
from urllib3.exceptions import HTTPError, ReadTimeoutError

from reactext.errors import CompletionError, ServerUnreachable, StreamCut

CONNECTION_FAULTS = (requests.RequestException, HTTPError, HTTPException, OSError)
"""Whatever a request or the reading of its reply raises."""


class Limit(NamedTuple):
    """How long something is waited for, and the name of the setting that says so."""

    name: str
    seconds: float

    @property
    def remedy(self) -> str:
        """What to do when it was too short."""
        return f"give it more time with timeouts=Timeouts({self.name}=…), now {self.seconds:g}"


def unreached(
    url: str, error: Exception, *, connect: Limit, first: Limit, remedy: str
) -> CompletionError:
    """Say why no answer came within the limits for the connection and for its first byte."""
    if isinstance(error, requests.ReadTimeout):
        return silent(url, first)
    if isinstance(error, requests.exceptions.SSLError):
        reason, remedy = "its certificate is not accepted", "set REQUESTS_CA_BUNDLE to your CA"
    elif isinstance(error, requests.exceptions.ProxyError):
        reason, remedy = "the proxy does not reach it", "set NO_PROXY for this host"
    elif isinstance(error, requests.ConnectTimeout):
        reason = f"it does not take the connection within {connect.seconds:g} s"
        remedy = f"{remedy}; or {connect.remedy}" if remedy else connect.remedy
    else:
        reason = _reason(error)
    return ServerUnreachable(f"{url} cannot be reached: {reason}", remedy=remedy)


def broken(url: str, error: Exception, *, waited: Limit) -> CompletionError:
    """Say why an answer that had begun did not go on."""
    inner = error.args[0] if error.args else None
    if isinstance(error, TimeoutError) or isinstance(inner, ReadTimeoutError):
        return silent(url, waited)
    return StreamCut(
        f"{url} closed the connection in the middle of its answer ({_reason(error)})",
        remedy="look into the server's log; the same request may work again",
    )


def silent(url: str, waited: Limit) -> CompletionError:
    """Say that nothing came for so long."""
    error = ServerUnreachable(f"{url} sent nothing for {waited.seconds:g} s", remedy=waited.remedy)
    # who waits as long again for each attempt waits for nothing
    error.retryable = False
    return error


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
