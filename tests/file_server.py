"""A real local server of files: a model hub and a package index, as faulty as a test wants."""

from __future__ import annotations

import base64
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answer:
    """How one file is sent: whole and honestly, unless told otherwise.

    ``cut`` closes the connection after so many bytes of the body. ``ranges`` and ``length`` tell
    whether ranges are honoured and lengths sent. ``content_range`` is sent as it is, with 206.
    ``hold`` waits for the event before the body; ``reached`` is set when it waits.
    """

    status: int = 200
    cut: int | None = None
    ranges: bool = True
    length: bool = True
    body: bytes | None = None
    content_range: str | None = None
    hold: threading.Event | None = None
    reached: threading.Event = field(default_factory=threading.Event)


class FileServer:
    """Serves ``files`` by path; ``answers`` are used up one a request, honest ones after them."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.answers: list[Answer] = []
        self.requests: list[tuple[str, str | None]] = []
        self.address = ""

    def publish_wheel(self, package: str, version: str, members: dict[str, bytes]) -> None:
        """Add a wheel to the package index at ``/simple/``."""
        name = package.replace("-", "_")
        file = f"{name}-{version}-py3-none-any.whl"
        self.files[f"/wheels/{file}"] = _wheel(name, version, members)
        self.files[f"/simple/{package}/"] = f'<a href="/wheels/{file}">{file}</a>'.encode()

    def ranges_asked(self, ending: str) -> list[str | None]:
        """Return the Range header of each request for a path of this ending."""
        return [asked for path, asked in self.requests if path.endswith(ending)]


def _wheel(name: str, version: str, members: dict[str, bytes]) -> bytes:
    info = f"{name}-{version}.dist-info"
    contents = {
        **members,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{path},sha256={_digest(body)},{len(body)}\n" for path, body in contents.items()
    )
    contents[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, body in contents.items():
            archive.writestr(path, body)
    return packed.getvalue()


def _digest(body: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(body).digest()).decode().rstrip("=")


@contextmanager
def serving() -> Iterator[FileServer]:
    """Run a server on a free port of loopback while the block runs."""
    files = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, files)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    files.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield files
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(request: BaseHTTPRequestHandler, files: FileServer) -> None:
    path = request.path
    asked = request.headers.get("Range")
    files.requests.append((path, asked))
    # through a proxy the whole address is asked for
    whole = files.files.get("/" + path.split("/", 3)[3] if path.startswith("http") else path)
    answer = Answer() if path.startswith("/simple/") or not files.answers else files.answers.pop(0)
    if whole is None or answer.status != 200:
        request.send_error(answer.status if answer.status != 200 else 404)
        return
    body = whole if answer.body is None else answer.body
    start = int(asked.removeprefix("bytes=").split("-")[0]) if asked and answer.ranges else 0
    content_range = answer.content_range
    if start and content_range is None:
        content_range = f"bytes {start}-{len(body) - 1}/{len(body)}"
    request.send_response(200 if content_range is None else 206)
    request.send_header("Content-Type", "text/html")
    if content_range:
        request.send_header("Content-Range", content_range)
    if answer.length:
        request.send_header("Content-Length", str(len(body) - start))
    request.end_headers()
    if answer.hold:
        answer.reached.set()
        answer.hold.wait(30)
    sent = body[start:] if answer.cut is None else body[start : start + answer.cut]
    try:
        request.wfile.write(sent)
    except ConnectionError:
        return  # the client went away, as some tests want it to
