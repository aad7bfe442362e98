"""Every exception of reactext, sorted by whose fault it is.

- ``ReactextError``: whatever we raise on purpose
  - ``SetupError``: the caller's: a bad tool, template, grammar or option
    - ``ReplayMismatch``: what is asked of a recorded model is not what was recorded
  - ``CompletionError``: the server's
    - ``ServerUnreachable``: nothing answers at the address
    - ``ModelMissing``: the server does not have the model
    - ``ServerBusy``: the queue is full, or the model is still loading
    - ``ContextOverflow``: the prompt does not fit into the model's window
    - ``ContextTruncated``: the server cut the prompt without saying so
    - ``StreamCut``: the text ended before the server said that it was complete
    - ``ServerFault``: any other answer that is not a completion
  - ``WeightsUnavailable``: no source gave the file of an embedded model
  - ``LimitReached``: a limit of the run, where the caller asked for an error
  - ``TurnError``: the model's: a text in which no step can be read

A message says what was wrong, shows the value and ends with the remedy; its parts are attributes.
What the model did wrong never leaves the engine: it becomes a correction that the model reads.
"""

from __future__ import annotations

from unicodedata import east_asian_width


class ReactextError(Exception):
    """Whatever reactext raises on purpose.

    ``context`` is the `ExecutionContext` with all steps done so far when the error ended a run,
    else None.
    """

    context: object | None = None


class SetupError(ReactextError, ValueError):
    """What the caller gave cannot work: a tool, a template, a grammar, an option."""


class ReplayMismatch(SetupError):
    """What is asked of a recorded model is not what was recorded; the message shows the two."""


class CompletionError(ReactextError):
    """The model's server gave no complete text.

    ``text`` is what had come until then. ``retryable`` says whether the same request may succeed
    a little later; it is a fact about the class of fault, not a reading of its message.
    ``retry_after`` is how many seconds the server asked to wait, where it did.
    """

    retryable = False
    retry_after: float | None = None

    def __init__(self, message: str, *, text: str = "", remedy: str = "") -> None:
        super().__init__(f"{message}; {remedy}" if remedy else message)
        self.text = text
        self.remedy = remedy


class ServerUnreachable(CompletionError):
    """Nothing answers at the address, or it stopped answering."""

    retryable = True


class ModelMissing(CompletionError):
    """The server is there and does not have the model."""


class ServerBusy(CompletionError):
    """The server has too much to do, or is still loading the model."""

    retryable = True


class ContextOverflow(CompletionError):
    """The prompt is longer than the model's window.

    ``prompt_tokens`` and ``window`` are the server's figures where it told them.
    """

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        remedy: str = "",
        prompt_tokens: int | None = None,
        window: int | None = None,
    ) -> None:
        super().__init__(message, text=text, remedy=remedy)
        self.prompt_tokens = prompt_tokens
        self.window = window


class ContextTruncated(ContextOverflow):
    """The server counted far fewer prompt tokens than it was sent: it dropped some silently."""


class StreamCut(CompletionError):
    """The text ended before the server marked it complete; ``text`` holds what came."""

    retryable = True


class ServerFault(CompletionError):
    """The server answered with an error; ``status`` is its HTTP status, if it had one."""

    def __init__(
        self, message: str, *, text: str = "", remedy: str = "", status: int | None = None
    ) -> None:
        super().__init__(message, text=text, remedy=remedy)
        self.status = status
        self.retryable = status in (408, 409, 429) or (
            # what is not built in will not be there a little later
            status is not None and status >= 500 and status not in (501, 505)
        )


class WeightsUnavailable(ReactextError):
    """No source gave the file of an embedded model, or it cannot be stored."""


class LimitReached(ReactextError):
    """A limit of the run (seconds, tokens, tool calls) was reached under ``on_limit="error"``."""


class TurnError(ReactextError):
    """No step can be read in a model's text.

    ``text`` is the text, ``position`` the character at which reading failed, ``problem`` what was
    wrong and ``remedy`` what to write instead; both are sentences for the model. ``str(error)``
    is for people: the problem, then the line and a caret under the place.
    """

    def __init__(
        self, problem: str, *, text: str = "", position: int = 0, remedy: str = ""
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.text = text
        self.position = max(0, min(position, len(text)))
        self.remedy = remedy

    @property
    def line(self) -> int:
        """The line of the position, counted from 1."""
        return self.text.count("\n", 0, self.position) + 1

    @property
    def column(self) -> int:
        """The column of the position, counted from 1."""
        return self.position - (self.text.rfind("\n", 0, self.position) + 1) + 1

    def __str__(self) -> str:
        if not self.text:
            return self.problem
        start = self.position - self.column + 1
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else len(self.text)]
        shown_from = max(0, self.column - 1 - 60)
        shown = line[shown_from : shown_from + 100].replace("\t", " ")
        # under wide characters as wide a space, or the caret stands too far to the left
        before = shown[: self.column - 1 - shown_from]
        caret = (
            "".join("\u3000" if east_asian_width(each) in "WF" else " " for each in before) + "^"
        )
        where = f"line {self.line}, column {self.column}"
        return f"{self.problem} at {where}\n    {shown}\n    {caret}"
