"""What is waited for, and for how long: shown on a terminal, nowhere else."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Waiting:
    """One line at the end of the console, gone as soon as there is something to tell."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._line: Progress | None = None

    def start(self, what: str) -> None:
        """Show what is waited for from now on."""
        self.stop()
        if not self._console.is_terminal or self._console.quiet:
            return
        self._line = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._line.add_task(what, total=None)
        self._line.start()

    def stop(self) -> None:
        """Remove the line."""
        if self._line is not None:
            self._line.stop()
        self._line = None
