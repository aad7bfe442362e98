"""Reads case files. What is not a whole, valid case is refused with file and line, never dropped.

    # tools and other settings for all cases of the file
    tool: get_weather(city, days?)

    A thought that the prompt began
    cue: Thought:
    .
    I look at the sky.
    Action: get_weather("Oslo")
    .
    Action: get_weather(city="Oslo")
    .

A text that holds a line of one dot stands between rows of two, and so on. All else is verbatim,
blanks at the ends of lines too, except that the file's own line ends count as LF; ``escaped: yes``
allows ``\\r`` and the like. What outcomes look like is said in `outcomes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from reactext.errors import SetupError
from reactext.reader import Tools
from reactext.testing.escapes import unescaped
from reactext.testing.outcomes import NotationError, Outcome, read_outcomes
from reactext.testing.signature_lines import toolbox_of
from reactext.tools import Toolbox


@dataclass(frozen=True, slots=True)
class Case:
    """A text and what it is to be read as: any one of the outcomes.

    ``cue`` is the end of the prompt that the text continues; ``cut`` says that the text ended at
    a length limit; ``line`` is that of the title.
    """

    path: Path
    line: int
    title: str
    text: str
    outcomes: tuple[Outcome, ...]
    tools: Toolbox | None = None
    cue: str = ""
    cut: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.title}"


def read_cases(path: str | Path, *, tools: Tools = None) -> list[Case]:
    """Read all cases of a file, or of all ``*.case`` files in a folder.

    ``tools`` are those of files that name none. Raises SetupError, with file and line, where a
    file holds anything but whole cases with different titles.
    """
    path = Path(path)
    files = sorted(path.rglob("*.case")) if path.is_dir() else [path]
    if not files:
        raise SetupError(f"{path}: there is no file *.case in this folder")
    toolbox = tools if isinstance(tools, Toolbox) or tools is None else Toolbox(tools)
    return [case for each in files for case in _File(each, toolbox).cases()]


@dataclass(frozen=True, slots=True)
class _Settings:
    """What may be set for a case, or above the first for all."""

    given: Toolbox | None
    signatures: tuple[str, ...] | None = None
    cue: str = ""
    cut: bool = False
    escaped: bool = False

    @property
    def tools(self) -> Toolbox | None:
        """The tools that the file names, else those that were given."""
        if self.signatures is None:
            return self.given
        return _toolbox(self.signatures) if self.signatures else None


_SETTING = re.compile(r"(tools?|cue|cut|escaped): ?(.*)")
_DOTS = re.compile(r"\.+")
# A title begins with none of these: where one seems to, a row of dots is missing above it.
_CONTENT = re.compile(
    r"(?:Thinking|Thought|Action|Action Input|Observation|Final Answer):|(?:error|or)\Z"
)
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class _File:
    """A case file while it is read, line by line."""

    def __init__(self, path: Path, tools: Toolbox | None) -> None:
        self._path = path
        self._settings = _Settings(tools)
        self._lines = _lines(path)
        self._next = 0

    def cases(self) -> Iterator[Case]:
        """Yield the cases in their order."""
        titles: dict[str, int] = {}
        while self._skip_to_content():
            line = self._lines[self._next]
            if not titles and _SETTING.fullmatch(line):
                self._settings = self._with_setting(self._settings)
                continue
            if line in titles:
                raise self._refusal(f"{line!r} is the title of the case in line {titles[line]} too")
            titles[line] = self._next + 1
            yield self._case()
        if not titles:
            raise self._refusal("there is no case in this file", len(self._lines) - 1)

    def _refusal(self, problem: str, line: int | None = None) -> SetupError:
        """Return the error for a line counted from 0, by default the one that comes next."""
        return SetupError(f"{self._path}:{(self._next if line is None else line) + 1}: {problem}")

    def _skip_to_content(self) -> bool:
        while self._next < len(self._lines):
            line = self._lines[self._next]
            if line.strip() and not line.startswith("#"):
                return True
            self._next += 1
        return False

    def _case(self) -> Case:
        title_at = self._next
        title = self._lines[title_at]
        if _DOTS.fullmatch(title) or _CONTENT.match(title):
            raise self._refusal(f"{title!r} is no title; is a row of dots missing above it?")
        self._next += 1
        settings = self._settings
        while not _DOTS.fullmatch(self._line()):
            settings = self._with_setting(settings)
        row = self._line()
        text_at = self._next + 1
        text = self._until(row)
        wanted_at = self._next + 1
        wanted = self._until(row)
        self._next += 1
        undone = unescaped if settings.escaped else str
        return Case(
            path=self._path,
            line=title_at + 1,
            title=title,
            text=self._text(text, text_at, undone),
            outcomes=self._outcomes(wanted, wanted_at, undone),
            tools=settings.tools,
            cue=self._text([settings.cue], title_at, undone),
            cut=settings.cut,
        )

    def _line(self) -> str:
        if self._next >= len(self._lines):
            raise self._refusal("the file ends within a case", len(self._lines) - 1)
        return self._lines[self._next]

    def _until(self, row: str) -> list[str]:
        """Step behind the row of dots that comes next, and return the lines up to the one after."""
        self._next += 1
        start = self._next
        while self._line() != row:
            self._next += 1
        return self._lines[start : self._next]

    def _text(self, lines: list[str], first: int, undone: Callable[[str], str]) -> str:
        for number, line in enumerate(lines):
            unseen = _UNSEEN.search(line)
            if unseen:
                problem = f"{unseen[0]!r} in the text; write it so, under 'escaped: yes'"
                raise self._refusal(problem, first + number)
        try:
            return undone("\n".join(lines))
        except ValueError as error:
            raise self._refusal(str(error), first) from error

    def _outcomes(
        self, lines: list[str], first: int, undone: Callable[[str], str]
    ) -> tuple[Outcome, ...]:
        try:
            return read_outcomes(lines, undone)
        except NotationError as error:
            raise self._refusal(str(error), first + error.line) from error
        except ValueError as error:
            raise self._refusal(str(error), first) from error

    def _with_setting(self, settings: _Settings) -> _Settings:
        """Take the setting in the next line into account, and step behind it."""
        found = _SETTING.fullmatch(self._line())
        if found is None:
            wanted = "settings such as 'cue: Thought:' and a row of dots follow a title"
            raise self._refusal(f"{wanted}, not {self._line()!r}")
        name, given = found.groups()
        try:
            changed = self._changed(settings, name, given)
            _ = changed.tools  # refused here, in its own line, if they are no tools
        except SetupError as error:
            raise self._refusal(str(error)) from error
        self._next += 1
        return changed

    def _changed(self, settings: _Settings, name: str, given: str) -> _Settings:
        if name == "cue":
            return replace(settings, cue=given)
        if name == "tool":
            return replace(settings, signatures=(*(settings.signatures or ()), given))
        if name == "tools":
            signatures = () if given == "none" else _signatures(self._path.parent / given)
            return replace(settings, signatures=signatures)
        if given not in ("yes", "no"):
            raise SetupError(f"{name} is yes or no, not {given!r}")
        if name == "cut":
            return replace(settings, cut=given == "yes")
        return replace(settings, escaped=given == "yes")


@lru_cache(maxsize=64)
def _toolbox(signatures: tuple[str, ...]) -> Toolbox:
    return toolbox_of(signatures)


def _lines(path: Path) -> list[str]:
    """The lines of a file; only LF and CRLF end one."""
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path}: cannot be read: {error}") from error


def _signatures(path: Path) -> tuple[str, ...]:
    """The lines of a file of signatures that are not blank and no remarks."""
    return tuple(line for line in _lines(path) if line.strip() and not line.startswith("#"))
