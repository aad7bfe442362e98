"""Where a server is, and what the surroundings of this process say about the way there."""

from __future__ import annotations

import ipaddress
from typing import Any
from urllib.parse import urlsplit

import requests

from reactext.errors import SetupError


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


def checked_header(name: str, value: str) -> str:
    """Return the value; one that cannot be sent is refused without being shown: it may be a key."""
    if not value.isascii() or not value.isprintable():
        raise SetupError(f"the value for the header {name} holds a character that none may hold")
    return value


def is_loopback(url: str) -> bool:
    """Say whether the address is this very machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def surroundings(url: str) -> dict[str, Any]:
    """Proxies and certificates from the environment; no proxies for this very machine.

    Authorisation is never taken from there: a matching netrc entry would override the given key.
    """
    with requests.Session() as session:
        found = session.merge_environment_settings(url, {}, None, None, None)
    proxies = {} if is_loopback(url) else found["proxies"]
    return {"proxies": proxies, "verify": found["verify"], "cert": found["cert"]}
