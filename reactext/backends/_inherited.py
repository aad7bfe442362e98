"""llama.cpp in a forked child whose parent has a model loaded.

Its threads are in the parent alone, and to stop a server, as well as the end of the library, waits
for them. So in such a child no server is stopped: it ends with the process.
"""

from __future__ import annotations

_kept: list[object] = []


def keep(server: object) -> None:
    """Let nothing stop this server, which was made here or in the parent."""
    import ctypes  # which few processes need

    if not _kept:
        own = ctypes.CDLL(None)
        # glibc comes to this before it comes to what the library wants to be done at the end
        if hasattr(own, "on_exit"):
            own.on_exit(own._exit, None)
    _kept.append(server)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))


def is_in_such_a_child() -> bool:
    """Say whether `keep` was called for what the parent had loaded."""
    return bool(_kept)
