"""Renders what the model reads: the instructions, the frame around them, and what steers a turn.

Templates are Jinja files; a user's own stand before ours. They get plain values and can do
nothing but say them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import (
    FunctionLoader,
    StrictUndefined,
    Template,
    TemplateError,
    TemplateNotFound,
    meta,
)
from jinja2.sandbox import SandboxedEnvironment

from reactext import _resources
from reactext.canonical import call_text
from reactext.context import ExecutionContext
from reactext.errors import SetupError
from reactext.given import checked, unknown
from reactext.protocol import Protocol
from reactext.quoting import inert, quoted
from reactext.tools import Tool, Toolbox, signature_text
from reactext.worked_example import example_for

Source = str | Path | Mapping[str, str] | None
"""A directory of templates, a mapping of template names to texts, or the text of the prompt."""


@checked
class Prompts:
    """The templates of one engine, compiled once.

    ``source`` is where the user's templates are: a directory (its files stand before ours of the
    same name), a mapping such as ``{"react": "…", "frames/chatml": "…"}``, or the text of the
    ``react`` template. Raises `SetupError` for a template that is not valid, one that nothing
    uses, or a directory that is not there.
    """

    def __init__(self, source: Source = None, *, protocol: Protocol | None = None) -> None:
        self.protocol = protocol or Protocol()
        self._own = _texts(source)
        self._environment = SandboxedEnvironment(
            loader=FunctionLoader(self._load),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,
        )
        self._names = {
            name: self.protocol.label(name) for name in type(self.protocol.labels).model_fields
        }
        self._check_own()

    def try_out(self, toolbox: Toolbox, *, language: str, frame: str | None) -> None:
        """Render each template that the caller's options lead to; raises `SetupError`."""
        if not self._own and language == "auto" and frame is None:
            return
        frames = {frame or "plain", *(_under("frames/", self._own))}
        for each in ["en", "zh"] if language == "auto" else [language]:
            for wrapped in frames:
                self.head("task", toolbox, language=each, frame=wrapped, parallel=True)
            self.force(each)
            self.digest(ExecutionContext(run_id="", task=""), each)
            self.correction("problem", "remedy", each)

    def _check_own(self) -> None:
        """Compile the user's templates, and make sure that each is one that is used."""
        included: set[str | None] = set()
        for name, text in self._own.items():
            self._template(name)
            included |= set(meta.find_referenced_templates(self._environment.parse(text)))
        if None in included:  # a name that is known only when it is rendered
            return
        known = {name.partition(".")[0] for name in _names()}
        for name in self._own:
            if not (
                name.partition(".")[0] in known
                or name.startswith("frames/")
                or not included.isdisjoint({name, f"{name}.jinja"})
            ):
                raise SetupError(unknown("prompts", "template", name, sorted(_names())))

    def head(
        self, task: str, toolbox: Toolbox, *, language: str, frame: str, parallel: bool
    ) -> str:
        """Render all that stands before the transcript: instructions and task, in their frame.

        ``language`` is "en", "zh" or that of a template ``react.<language>.jinja``.
        """
        calls = self.protocol.calls
        instructions = self._say(
            self._in_language("react", language),
            tools=[_shown(each) for each in toolbox],
            example=example_for(toolbox, language, parallel=parallel, syntax=calls),
            parallel=parallel,
            call=call_text("tool", kwargs={"name": "value"}, syntax=calls),
            separator=calls.separator.strip(),
        )
        return self._say(
            self._frame(frame), instructions=instructions, task=quoted(task, self.protocol)
        )

    def force(self, language: str) -> str:
        """Render the thought that leads to an answer when the run has to end."""
        return self._say(self._in_language("force", language)).rstrip("\n")

    def digest(self, context: ExecutionContext, language: str) -> str:
        """Render what the tools have said, as the answer where the model gives none."""
        entries = [
            {"call": action.text.strip() or action.tool, "text": observation.text}
            for step in context.steps
            for action, observation in zip(step.turn.actions, step.observations, strict=False)
        ]
        return self._say(self._in_language("digest", language), entries=entries).rstrip("\n")

    def correction(self, problem: str, remedy: str, language: str) -> str:
        """Render what the model is told of a text in which no step could be read."""
        template = self._in_language("correction", language)
        return self._say(template, problem=problem, remedy=remedy).rstrip("\n")

    def _say(self, template: Template, **values: Any) -> str:
        try:
            return template.render(self._names | values)
        except Exception as error:  # whatever an expression in a template comes to
            raise SetupError(
                f"the template {template.name!r} cannot be rendered: {error}; it may use "
                f"{', '.join(sorted(self._names | values))}"
            ) from error

    def _in_language(self, name: str, language: str) -> Template:
        """Return the template in this language; a user's own ``react`` stands before our others."""
        translated = name if language == "en" else f"{name}.{language}"
        own = self._own.get
        for candidate, load in ((translated, own), (name, own), (translated, _ours)):
            if load(candidate) is not None:
                return self._template(candidate)
        if name != "react":
            return self._template(name)
        raise SetupError(
            f"there is no template {f'react.{language}.jinja'!r} for the language; write one, "
            'or use language="en" or "zh"'
        )

    def _frame(self, frame: str) -> Template:
        if self._load(f"frames/{frame}") is None:
            known = _under("frames/", [*_names(), *self._own])
            raise SetupError(unknown("prompts", "frame", frame, known))
        return self._template(f"frames/{frame}")

    def _template(self, name: str) -> Template:
        try:
            return self._environment.get_template(name)
        except TemplateNotFound as error:
            raise SetupError(
                f"the template {name!r} includes {error.name!r}, which is nowhere"
            ) from error
        except TemplateError as error:
            line = getattr(error, "lineno", None)
            raise SetupError(
                f"the template {name!r} is not valid{f' at line {line}' if line else ''}: {error}"
            ) from error

    def _load(self, name: str) -> str | None:
        bare = name.removesuffix(".jinja")
        return self._own.get(bare) or _ours(bare)


def _ours(name: str) -> str | None:
    try:
        return _resources.read("prompts", f"{name}.jinja")
    except FileNotFoundError:
        return None


def _shown(each: Tool) -> dict[str, str]:
    return {
        "name": each.name,
        "signature": inert(signature_text(each)),
        "description": inert(" ".join(each.description.split("\n\n")[0].split())),
    }


def _names() -> list[str]:
    """The names of our own templates."""
    return [path.removesuffix(".jinja") for path in _resources.listing("prompts", ".jinja")]


def _under(folder: str, names: Iterable[str]) -> list[str]:
    return [name.removeprefix(folder) for name in names if name.startswith(folder)]


def _texts(source: Source) -> dict[str, str]:
    """Return the user's templates by their names without the ending."""
    if source is None:
        return {}
    if isinstance(source, Mapping):
        return {name.removesuffix(".jinja"): text for name, text in source.items()}
    if isinstance(source, str) and ("{{" in source or "{%" in source or "\n" in source):
        return {"react": source}
    directory = Path(source)
    if not directory.is_dir():
        raise SetupError(
            f"prompts={str(source)!r} is neither a directory nor the text of a template; a text "
            "holds {{ … }} or {% … %}"
        )
    # not deeper, or a wrong directory would be searched whole
    files = sorted([*directory.glob("*.jinja"), *directory.glob("[!.]*/*.jinja")])
    if not files:
        raise SetupError(f"there is no template in prompts={str(source)!r}, such as react.jinja")
    return {path.relative_to(directory).with_suffix("").as_posix(): _text(path) for path in files}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"the template {path} cannot be read as UTF-8 text: {error}") from error


def language_of(text: str) -> str:
    """Return "zh" for a text written mostly in Chinese, else "en".

    Japanese, which shares the characters, is told apart by its kana.
    """
    letters = [character for character in text[:2000] if character.isalpha()]
    chinese = sum("\u4e00" <= character <= "\u9fff" for character in letters)
    kana = sum("\u3040" <= character <= "\u30ff" for character in letters)
    # A Chinese character says about as much as a short word, so a few outweigh many letters.
    return "zh" if chinese * 4 > len(letters) and kana * 10 <= len(letters) else "en"
