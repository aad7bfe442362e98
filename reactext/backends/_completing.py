"""What all servers have in common once their replies are read as pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from reactext.backends._retry import Patience, Retry
from reactext.completion import Completion, Piece, until_stop, within
from reactext.errors import CompletionError

Begin = Callable[[], AbstractContextManager[Iterable[Piece]]]


def completing(
    begin: Begin, *, stop: Sequence[str], options: Completion, retry: Retry
) -> Iterator[str]:
    """Yield the pieces of a completion, begun again as long as it fails before any text.

    The stop texts are looked for here as well: some servers know none. A fault carries the text
    that came before it, and is not retryable when it was tried again here, in vain. After a
    cancellation the pieces simply end.
    """
    patience = Patience(retry, options.cancellation)
    begun = False
    while True:
        came: list[str] = []
        try:
            with begin() as pieces:
                whole = _recorded(whole_characters(pieces), came)
                for piece in until_stop(within(whole, options.max_tokens), stop):
                    begun = begun or bool(piece)
                    yield piece
            return
        except CompletionError as error:
            if not begun and patience.again(error):
                continue
            if options.cancellation is not None and options.cancellation.cancelled:
                return
            if patience.was_used:
                error.retryable = False
            error.text = "".join(came)
            raise


def _recorded(pieces: Iterable[Piece], came: list[str]) -> Iterator[Piece]:
    for piece in pieces:
        if piece.channel == "text":
            came.append(piece)
        yield piece


def whole_characters(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Join the halves of a surrogate pair that came apart; a half alone becomes U+FFFD.

    So every text that is yielded can be encoded.
    """
    held = ""
    for piece in pieces:
        if not held and piece.isascii():
            yield piece
            continue
        text = held + piece
        held = ""
        if "\ud800" <= text[-1:] <= "\udbff" and piece.finish is None:
            text, held = text[:-1], text[-1]
        yield Piece(paired(text), channel=piece.channel, usage=piece.usage, finish=piece.finish)
    if held:
        yield Piece("\ufffd")


def paired(text: str) -> str:
    """Return the text with surrogate pairs as the characters they stand for."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
