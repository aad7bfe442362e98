"""The command line: ``reactext ask "What is 17 * 23?"``.

It is a way to use the library, and holds nothing that the library does not; it needs the extra
``cli``.
"""

from __future__ import annotations

import sys

from reactext.cli.streams import prepare


def main() -> None:
    """Run the command that the arguments of the process name."""
    if not prepare():
        print("reactext: stdout is closed: there is nowhere to write to", file=sys.stderr)
        sys.exit(141)
    try:
        import rich  # noqa: F401  (used later; its absence is told now)

        from reactext.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        print(
            f"reactext: the command line needs {error.name}; install it with: "
            "pip install 'reactext[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:  # as everywhere else, though nothing is there yet to handle it
        sys.exit(130)
    app(prog_name="reactext")
