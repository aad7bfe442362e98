"""Threads are kept and bounded, and a job that hangs gives its place to another."""

from __future__ import annotations

import threading
from collections.abc import Callable

from reactext.running.threads import Threads

LONG = 20.0


def waiting(began: threading.Semaphore, release: threading.Event) -> Callable[[], None]:
    def work() -> None:
        began.release()
        release.wait(LONG)

    return work


def alive(name: str) -> int:
    return sum(each.name == name for each in threading.enumerate())


def test_a_thread_is_kept_for_the_next_job() -> None:
    threads = Threads("kept")
    seen: list[int] = []
    for _ in range(20):
        done = threading.Event()

        def work(done: threading.Event = done) -> None:
            seen.append(threading.get_ident())
            done.set()

        threads.submit(work)
        assert done.wait(LONG)
    assert len(set(seen)) <= 3


def test_no_more_threads_than_usual_but_in_a_hurry() -> None:
    threads = Threads("bounded", usual=2, most=3)
    began, release = threading.Semaphore(0), threading.Event()
    for _ in range(6):
        threads.submit(waiting(began, release))
    assert [began.acquire(timeout=LONG) for _ in range(2)] == [True, True]
    assert alive("bounded") == 2
    threads.hurry()
    assert began.acquire(timeout=LONG)
    threads.hurry()
    assert alive("bounded") == 3
    release.set()
    assert all(began.acquire(timeout=LONG) for _ in range(3))


def test_no_hurry_while_jobs_end() -> None:
    threads = Threads("moving", usual=1, most=9, patience=LONG)
    began, release = threading.Semaphore(0), threading.Event()
    threads.submit(lambda: None)
    threads.submit(waiting(began, release))
    assert began.acquire(timeout=LONG)  # so the first has ended, a moment ago
    third = threads.submit(waiting(began, release))
    threads.hurry()
    assert alive("moving") == 1
    assert threads.drop(third)
    release.set()


def test_abandoned_job_gives_its_place_to_the_next() -> None:
    threads = Threads("abandoned", usual=1, most=1)
    began, release = threading.Semaphore(0), threading.Event()
    first = threads.submit(waiting(began, release))
    assert began.acquire(timeout=LONG)
    second = threads.submit(waiting(began, release))
    assert not threads.drop(first)
    threads.abandon(first)
    assert began.acquire(timeout=LONG)
    threads.abandon(first)  # once is enough
    third = threads.submit(waiting(began, release))
    assert threads.drop(third) and not threads.drop(third)
    assert not threads.drop(second)
    release.set()


def test_idle_threads_end() -> None:
    threads = Threads("idle", idle_seconds=0.01)
    done = threading.Event()
    threads.submit(done.set)
    assert done.wait(LONG)
    for each in threading.enumerate():
        if each.name == "idle":
            each.join(LONG)
    assert alive("idle") == 0
    done.clear()
    threads.submit(done.set)
    assert done.wait(LONG)
