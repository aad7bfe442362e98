"""``OLLAMA_HOST`` in all its forms, read as the server and its own client read it."""

from __future__ import annotations

import os

from reactext.errors import SetupError

_DEFAULT_PORT = 11434
# an address to listen at is none to call
_LISTENING = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


def ollama_url(host: str | None = None) -> str:
    """Return the address of the server: the one given, else that of the environment, else 11434.

    "localhost" becomes 127.0.0.1, where Ollama listens: the name may mean ::1 first.
    """
    text = (
        (os.environ.get("OLLAMA_HOST", "") if host is None else host).strip().strip("\"'").strip()
    )
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "http", text
    port = {"http": 80, "https": 443}.get(scheme, _DEFAULT_PORT) if separator else _DEFAULT_PORT
    if not separator and rest.split("/", 1)[0] == "ollama.com":
        scheme, port = "https", 443
    place, slash, path = rest.partition("/")
    name, number = _split(place)
    if number:
        port = _port(number, text)
    name = _LISTENING.get(name, "127.0.0.1" if name == "localhost" else name)
    shown = f"[{name}]" if ":" in name else name
    return f"{scheme}://{shown}:{port}{(slash + path).rstrip('/')}"


def _port(number: str, text: str) -> int:
    """Ollama would take its own port for one that is none, and so another server."""
    if number.isdecimal() and len(number) < 6 and 0 < int(number) < 65536:
        return int(number)
    raise SetupError(
        f"the Ollama host {text!r} has the port {number!r}, which is none; write host:11434"
    )


def _split(place: str) -> tuple[str, str]:
    """Host and port of a place; IPv6 comes with or without brackets."""
    if place.startswith("["):
        name, _, port = place[1:].partition("]")
        return name, port.removeprefix(":")
    if place.count(":") > 1:
        return place, ""
    name, _, port = place.partition(":")
    return name, port
