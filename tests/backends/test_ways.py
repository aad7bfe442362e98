"""The ways to a server: past proxies, through proxies, and over TLS."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from apis import OLLAMA, heard, text
from wire_server import PATIENCE, Act, Asked, chunk, head, serving

from reactext.cancellation import Cancellation
from reactext.errors import ServerUnreachable

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    return monkeypatch


def test_a_proxy_is_not_asked_for_this_machine(no_proxies: pytest.MonkeyPatch) -> None:
    with serving(lambda _: []) as proxy, serving(lambda _: OLLAMA.reply([" a"])) as server:
        no_proxies.setenv("HTTP_PROXY", proxy.url)
        assert text(heard(OLLAMA.model(server.url))) == " a"
        assert proxy.asked == []


def test_a_proxy_is_asked_for_any_other(no_proxies: pytest.MonkeyPatch) -> None:
    with serving(lambda _: OLLAMA.reply([" a"])) as proxy:
        no_proxies.setenv("HTTP_PROXY", proxy.url)
        assert text(heard(OLLAMA.model("http://models.invalid:80"))) == " a"
        assert proxy.paths() == ["http://models.invalid:80/api/generate"]
        no_proxies.setenv("NO_PROXY", "models.invalid")
        with pytest.raises(ServerUnreachable):
            heard(OLLAMA.model("http://models.invalid:80"))


def test_a_completion_through_a_proxy_can_be_cancelled(no_proxies: pytest.MonkeyPatch) -> None:
    cancellation = Cancellation()
    with serving(lambda _: [Act.HOLD]) as proxy:
        no_proxies.setenv("HTTP_PROXY", proxy.url)
        model = OLLAMA.model("http://models.invalid:80")
        reader = threading.Thread(
            target=heard, args=(model,), kwargs={"cancellation": cancellation}
        )
        reader.start()
        assert proxy.holding.wait(PATIENCE)
        cancellation.cancel()
        assert proxy.left.wait(PATIENCE)
        reader.join(PATIENCE)
        assert not reader.is_alive()


def test_a_proxy_that_reaches_nothing(no_proxies: pytest.MonkeyPatch) -> None:
    with serving(lambda _: []) as gone:
        url = gone.url
    no_proxies.setenv("HTTP_PROXY", url)
    with pytest.raises(ServerUnreachable, match="the proxy does not reach it; set NO_PROXY"):
        heard(OLLAMA.model("http://models.invalid:80"))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine, and its key, in one file."""
    directory = tmp_path_factory.mktemp("certificate")
    whole = directory / "both.pem"
    kind = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", "key.pem", "-out", "cert.pem"]
    command = ["openssl", "req", *kind, *subject, *files]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    whole.write_text((directory / "key.pem").read_text() + (directory / "cert.pem").read_text())
    return whole


@needs_openssl
def test_a_text_over_tls(certificate: Path, no_proxies: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    cancellation = Cancellation()
    holds = [head(200, OLLAMA.content_type, Transfer_Encoding="chunked"), chunk(OLLAMA.event(" a"))]

    def script(asked: Asked) -> Iterable[Any]:
        return [*holds, Act.HOLD] if asked.body["prompt"] == "hold" else OLLAMA.reply([" a", " b"])

    with serving(script, tls=context) as server:
        with pytest.raises(ServerUnreachable, match="its certificate is not accepted"):
            heard(OLLAMA.model(server.url))
        no_proxies.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        model = OLLAMA.model(server.url)
        assert text(heard(model)) == " a b"
        reader = threading.Thread(
            target=heard, args=(model, "hold"), kwargs={"cancellation": cancellation}
        )
        reader.start()
        assert server.holding.wait(PATIENCE)
        cancellation.cancel()
        assert server.left.wait(PATIENCE)
        reader.join(PATIENCE)
        assert not reader.is_alive()
        model.close()  # type: ignore[attr-defined]
