"""Where a quoted string really ends, and what its writer meant by its escapes.

Models forget to escape: ``'it's late'``, ``"he said "hi" to me"``, ``"C:\\Users"``. So a quote ends
a string only if what comes after it can come after a value.
"""

from __future__ import annotations

import json
import re

from reactext.reading.beginnings import MORE, Undecided

CLOSING = {
    '"': '"', "'": "'", "`": "`", "“": "”", "”": "”", "„": "“", "‘": "’", "’": "’", "«": "»",
    "「": "」", "『": "』", "＂": "＂", "＇": "＇",
}  # fmt: skip
"""The quotes, each with the one that closes it."""

QUOTES = "".join(dict.fromkeys([*CLOSING, *CLOSING.values()]))

_LOOK = 200
_BLANKS = re.compile(r"(?:[ \t\r\n\u00a0\u2009\u202f\u3000]|\\\n){0,100}")
_Q = re.escape(QUOTES)
# What may follow the comma after a string: another value, a key, or a closer.
_NEXT_VALUE = re.compile(
    rf"(?:[rbuf]{{1,2}}(?=[\"']))?[{_Q}\d\[{{(（【｛［\-+.)\]}}）】｝］,，#]|//|/\*"
    rf"|(?:true|false|null|none|nan)\b"
    rf"|[^\W\d][\w \-]{{0,40}}?[ \t]*[=:：＝(（]"
    rf"|[\w.\-]{{1,40}}(?: [\w.\-]{{1,20}}){{0,3}}[ \t]*[,，)\]}}）】｝］]",
    re.IGNORECASE,
)
_NEXT_VALUE_BEGUN = re.compile(r"(?:[\w.\-][\w .\-\t]{0,120}|/?)\Z")
_KEY = re.compile(rf"[{_Q}][^{_Q}\n:=]{{0,60}}[{_Q}][ \t]*[:：=＝]")
_KEY_BEGUN = re.compile(rf"[{_Q}][^{_Q}\n:=]{{0,60}}(?:[{_Q}][ \t]*)?\Z")
_STRING = re.compile(rf"[{_Q}][^{_Q}\n]{{0,60}}[{_Q}][ \t\r\n]{{0,20}}[,)\]}}，）］｝]")
_STRING_BEGUN = re.compile(rf"[{_Q}][^{_Q}\n]{{0,60}}(?:[{_Q}][ \t\r\n]{{0,20}})?\Z")
_NAME = re.compile(r"[^\W\d]\w{0,40}[ \t]*[:：=＝]")
_NAME_BEGUN = re.compile(r"[^\W\d]\w{0,40}[ \t]*\Z")
_METHOD = re.compile(r"\.[a-z_]{1,20}\(")
_METHOD_BEGUN = re.compile(r"\.[a-z_]{0,20}\Z")


def ends_string(text: str, after: int, *, final: bool) -> bool | Undecided:
    """Say whether the quote just before ``after`` can end a string.

    MORE is returned when only the text that comes next can tell; never if ``final``.
    """
    window = text[after : after + _LOOK]
    open_end = not final and len(window) < _LOOK
    blanks = _BLANKS.match(window)
    assert blanks is not None
    position = blanks.end()
    if position >= len(window):
        return MORE if open_end else True
    character = window[position]
    if character in ")]}）】］｝|｜;；=:：＝#+%*":
        return True
    if character in ",，、":
        return _starts_value(window, position + 1, open_end)
    followers = _followers(character, position, blanks[0])
    if any(pattern.match(window, position) for pattern, _ in followers):
        return True
    if open_end and any(begun.match(window, position) for _, begun in followers):
        return MORE
    if character == "/":
        if open_end and position + 1 >= len(window):
            return MORE
        return window[position : position + 2] in ("//", "/*")
    return False


def opens_within(before: str, solid: str) -> bool:
    """Whether a quote that ends no string opens one in it, of code: ``"print("hi")"``.

    ``before`` are the last characters before the quote, ``solid`` the last that is no blank.
    """
    prefixed = before.rstrip("rRbBfFuU")
    last = prefixed.rstrip()[-1:] if len(before) - len(prefixed) in (1, 2) else solid
    return last != "" and last in "([{=+,:（【｛，："


def _followers(
    character: str, position: int, blanks: str
) -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """What may follow a string without a comma: a key after a blank, or a method."""
    if character in QUOTES:
        return [(_KEY, _KEY_BEGUN), (_STRING, _STRING_BEGUN)] if position else []
    if character == ".":
        return [(_METHOD, _METHOD_BEGUN)] if not position else []
    return [(_NAME, _NAME_BEGUN)] if blanks else []


def _starts_value(window: str, position: int, open_end: bool) -> bool | Undecided:
    blanks = _BLANKS.match(window, position)
    assert blanks is not None
    if blanks.end() >= len(window):
        return MORE if open_end else True
    if _NEXT_VALUE.match(window, blanks.end()):
        return True
    return MORE if open_end and _NEXT_VALUE_BEGUN.match(window, blanks.end()) else False


_SIMPLE = {
    '"': '"', "'": "'", "\\": "\\", "/": "/", "n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f",
    "`": "`", "\n": "", "0": "\0",
}  # fmt: skip
# Commands of LaTeX that JSON takes for a tab, a form feed or the like, which nobody means there.
_LATEX = (
    r"(?:frac|forall|theta|times|text(?:bf|it|rm)?|tilde|tfrac|beta|bar|binom|begin|boldsymbol"
    r"|bmatrix|nabla|neq|notin|rho|right(?:arrow)?|rangle)(?![A-Za-z])"
)
LATEX_INSIDE = re.compile(rf"(?<!\\)(?:\\\\){{0,20}}\\{_LATEX}")
"""A command of LaTeX with a single backslash that happens to be an escape of JSON."""

_ESCAPE = re.compile(rf"\\({_LATEX}|u[0-9a-fA-F]{{4}}|x[0-9a-fA-F]{{2}}|.|\n)", re.DOTALL)
# C:\Users: what is no escape shows that none is one, after a drive or a server.
_ROOT = r"(?:[A-Za-z]:\\|\\\\[\w.$-]+\\)"
_WINDOWS_PATH = re.compile(rf"{_ROOT}[^\\/:*?\"<>|\r\n]")
_NO_ESCAPE = re.compile(r"(?<!\\)\\(?![\\\"'/bfnrtu0]|\Z)|\\u(?![0-9a-fA-F]{4})")
# C:\new\table.txt could be JSON too, but for people it is a path: with the ending of a file, or
# with what is otherwise a tab, a backspace or the like. "e:\n" and "\\d\b" are none.
_PART = r"[\w$()~ .+\-]"
_PATH = (
    rf"(?:[A-Za-z]:|\\\\[\w.$-]{{2,}}\\{_PART}{{2,}})"
    rf"(?:\\{_PART}{{2,60}}){{0,30}}"
    rf"(?:\\[bfrt]{_PART}+(?:\\{_PART}{{1,60}}){{0,30}}\\?|\\{_PART}{{2,60}}\.\w{{1,5}})"
)
_SURE_PATH = re.compile(rf"{_PATH}\Z")
PATH_INSIDE = re.compile(rf"(?P<quote>[\"']){_PATH}(?P=quote)")
"""A quoted path whose backslashes happen to be escapes of JSON."""

_DOUBLED = re.compile(r"\\\\")


def decoded(body: str) -> str:
    r"""Return what the text between two quotes means; escapes that are none stay as they are.

    A Windows path with single backslashes keeps them all, ``\t`` and ``\n`` too.
    """
    if "\\" not in body:
        return body
    is_path = _WINDOWS_PATH.match(body) and not _DOUBLED.search(body, 1)
    if is_path and (_NO_ESCAPE.search(body) or _SURE_PATH.match(body)):
        return body
    text = _ESCAPE.sub(_meant, body)
    if any("\ud800" <= each <= "\udfff" for each in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _meant(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1 and code[0] not in "ux":
        return found[0]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _SIMPLE.get(code, found[0])


def quoted(text: str) -> str:
    """Write a string as JSON does."""
    return json.dumps(text, ensure_ascii=False)
