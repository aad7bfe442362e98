"""Finds the labels of the protocol at the start of a line, however they are dressed.

Action:  **Action:**  ### Action  1. Action 2:  🔧 action：  > Action :  Assistant: Action:
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reactext.protocol import Labels, Protocol, bare
from reactext.reading.beginnings import MORE, Undecided

# A line whose label has not ended here has none: so each line costs the same.
_REACH = 120
_LONGEST_DRESS = 50

# Marks, bullets and emoji: whatever is no letter, digit, quote, bracket or full stop.
_DRESS = r"(?:[^\w\n\"'“”‘’«»「」『』()\[\]{}<（）【】:：,，.。;；!?！？]|_){0,26}"
_COUNT = r"(?:(?:step ?)?\d{1,3}[.):、．)：\-]{1,2}[ \t*_`]{0,6})?"
_ROLES = ("assistant", "ai", "bot", "助手", "system response")
_ROLE = rf"(?:(?:{'|'.join(_ROLES)})[:：][ \t*_`]{{0,6}})?"
_BOLD = ("b", "strong", "i", "em", "u")
_HTML = rf"(?:</?(?:{'|'.join(_BOLD)})>)?"
_BEGUN = "|".join(each[:length] for each in _BOLD for length in range(len(each) + 1))
_TAG_BEGUN = re.compile(rf"</?(?:{_BEGUN})\Z", re.IGNORECASE)
_TAGS = re.compile(rf"</?(?:(?:{'|'.join(_BOLD)})>|(?:{_BEGUN})\Z)", re.IGNORECASE)
_OPENED = re.compile(r"(?:\*{1,3}|_{1,2}|`)\Z")
_GAP = r"[ \u00a0\t_\-]{0,2}(?:\d{1,3}[ \t_\-]{0,2})?"
_ENDING = r"[ \t_\-#]{0,3}\d{0,3}[ \t*_`~✿]{0,8}"
_ALONE = r"[ \t\r]{0,8}(?=\n|\Z)"
# There is none of these before a label or within it; nor are the last two within.
_NO_LABEL = '"“”,，。;；!！?？{}'
_NOT_WITHIN = _NO_LABEL + "|="


@dataclass(frozen=True, slots=True)
class Label:
    """A label in a text: what it announces, and from where to where it goes.

    ``has_colon`` is False for one alone on its line. ``is_weak`` says that the word is also an
    everyday one ("Result"), which counts only where such a label is due. ``dress`` is what stands
    before it on its line; ``opened`` is the end of it, where that is bold or code that goes on.
    """

    kind: str
    start: int
    end: int
    written: str
    has_colon: bool = True
    is_weak: bool = False
    is_canonical: bool = False
    dress: str = ""
    opened: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether nothing stands before it."""
        return not self.dress

    @property
    def is_starred(self) -> bool:
        """Whether nothing but markup for a heading, bold or a quotation stands before it."""
        return not self.dress.strip("*#_`> ")

    @property
    def repairs(self) -> tuple[str, ...]:
        """What is tolerated in it."""
        dressed = (
            "label synonym" if not self.is_canonical else "" if self.is_plain else "dressed label"
        )
        return tuple(filter(None, (dressed, "" if self.has_colon else "label without colon")))


_WEAK = frozenset(
    map(
        bare,
        (
            "Result", "Results", "Output", "Response", "Input", "Inputs", "Arguments", "Args",
            "Parameters", "Params", "Parameter", "Tool", "Function", "User", "Human",
            "结果", "結果", "결과", "输入", "輸入", "入力", "입력", "参数", "參數", "引数",
            "Resultado", "Résultat", "Ergebnis", "Risultato", "Результат",
            "Entrada", "Entrée", "Eingabe", "Parámetros", "Argumentos", "Paramètres",
            "工具", "操作", "执行", "執行", "ツール", "도구", "Outil", "Werkzeug", "Herramienta",
            "用户", "问题", "問題", "質問", "回答", "答案", "Reflection", "Thinking", "Actions",
            "思路", "想法", "考え", "Ferramenta", "Strumento", "Usuario", "Utilisateur",
        ),
    )
)  # fmt: skip


class LabelFinder:
    """The labels of one protocol, ready to be looked for.

    A ``loose`` one, for a whole text, takes a blank for the colon that was forgotten.
    """

    def __init__(self, protocol: Protocol, *, loose: bool = False) -> None:
        self._kinds = _vocabulary(protocol)
        self._canonical = {bare(written[0]) for _, written in protocol.labels}
        texts = [each for _, written in (*protocol.labels, *Labels()) for each in written]
        self._label_at = _pattern(texts, protocol.colon, loose=loose)
        self._beginnings = _beginnings(texts)
        self._colon = protocol.colon

    def find(self, text: str, position: int, *, final: bool) -> Label | Undecided | None:
        """Return the label that begins the line at ``position``, or None.

        MORE is returned when only the text that comes next can tell; never if ``final``.
        """
        reach = position + _REACH
        found = self._label_at.match(text, position, reach)
        if found is not None and (final or found.end() < len(text)):
            is_tag_begun = not final and _TAG_BEGUN.match(text, found.end())
            return MORE if is_tag_begun else self._label(found)
        if not final and len(text) < reach and self._may_begin(text[position:]):
            return MORE
        return None

    def _may_begin(self, line: str) -> bool:
        """Whether a line that has not ended may still begin with a label."""
        letters: list[str] = []
        for each in _TAGS.sub("", line).casefold():
            if each.isalpha():
                letters.append(each)
            elif each == "\n" or each in (_NOT_WITHIN if letters else _NO_LABEL):
                return each in self._colon
        if not letters:
            return len(line) < _LONGEST_DRESS
        return "".join(letters) in self._beginnings

    def tag(self, name: str, start: int, end: int) -> Label | None:
        """Return the label that ``<name>`` is, or None."""
        kind = self._kinds.get(bare(name))
        return Label(kind, start, end, name, dress="<") if kind else None

    def is_residue(self, line: str, *, strict: bool) -> bool:
        """Whether a line is the beginning of an observation's label, cut within the word.

        ``strict`` wants more of it, as written, and only of the label that the engine stops at:
        the last line of an answer may well be a word that begins like another.
        """
        stripped = line.strip().strip("*#_` ")
        least = 5 if strict else 3
        name = bare(stripped)
        if len(stripped) < least and stripped.isascii():
            return False
        return any(
            kind == "observation"
            and each.startswith(name)
            and each not in _WEAK
            and (not strict or (each in self._canonical and not stripped[0].islower()))
            for each, kind in self._kinds.items()
        ) and bool(name)

    def _label(self, found: re.Match[str]) -> Label | None:
        written = found["bracketed"] or found["label"]
        if found["bracketed"] == "TOOL_CALLS":
            return None  # a mark of Mistral's, not a label
        name = bare(re.sub(r"\d+|\u00a0", "", written))
        kind = self._kinds[name]
        if found["paper"] is not None and kind != "observation":
            return None
        dress = found["dress"].strip()
        opened = _OPENED.search(found["dress"])
        is_open = opened is not None and opened[0] not in found[0][len(found["dress"]) :]
        is_bold = any(each in "*_`~" for each in dress)
        return Label(
            kind=kind,
            start=found.start(),
            end=found.start("tail") if found["tail"] and not is_bold else found.end(),
            written=written,
            has_colon=found["alone"] is None,
            is_weak=name in _WEAK and name not in self._canonical,
            is_canonical=name in self._canonical,
            opened=opened[0] if opened is not None and is_open else "",
            dress=dress if found["bracketed"] is None else f"{dress}[",
        )


def _vocabulary(protocol: Protocol) -> dict[str, str]:
    """Return what each label announces; the protocol's own labels come before the known ones."""
    kinds = {bare(each): name for name, written in Labels() for each in written}
    kinds |= {bare(each): name for name, written in protocol.labels for each in written}
    return kinds


def _pattern(texts: Iterable[str], colon: str, *, loose: bool) -> re.Pattern[str]:
    """Return the expression for a label at the start of a line."""
    label = _any_of(each.casefold() for each in texts)
    colons = "|".join(map(re.escape, sorted({":", "：", colon}, key=len, reverse=True)))
    alone = rf"{_ALONE}|[ \t]" if loose else _ALONE
    end = rf"(?:{colons})(?P<tail>[*_`~]{{0,4}}){_HTML}|(?P<paper>(?=\[))|(?P<alone>{alone})"
    plain = rf"{_HTML}(?P<label>{label}){_ENDING}{_HTML}(?:{end})"
    bracketed = rf"[\[【](?P<bracketed>{label}){_ENDING}[\]】](?:{colons})?"
    dress = rf"(?P<dress>{_DRESS}{_COUNT}{_ROLE})"
    return re.compile(rf"{dress}(?:{plain}|{bracketed})", re.IGNORECASE)


def _any_of(texts: Iterable[str]) -> str:
    """Return the expression for any of these texts, the longest first; a space is a gap."""
    branches: dict[str, list[str]] = {}
    for text in texts:
        branches.setdefault(text[:1], []).append(text[1:])
    ends = branches.pop("", None) is not None
    options = [
        (_GAP if first == " " else re.escape(first)) + _any_of(rests)
        for first, rests in sorted(branches.items())
    ]
    if not options:
        return ""
    return f"(?:{'|'.join(options)})" + ("?" if ends else "")


def _beginnings(texts: Iterable[str]) -> frozenset[str]:
    """Return the letters that a line may have while its label has not ended."""
    labels = {"".join(each for each in text.casefold() if each.isalpha()) for text in texts}
    before = ["", "step", *("".join(filter(str.isalpha, each)) for each in _ROLES)]
    whole = {first + label for first in before for label in labels}
    return frozenset(each[:length] for each in whole for length in range(1, len(each) + 1))
