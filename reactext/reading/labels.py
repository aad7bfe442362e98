"""Finds the labels of the protocol at the start of a line, however they are dressed.

Action:  **Action:**  ### Action  1. Action 2:  🔧 action：  > Action :  Assistant: Action:
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from reactext.protocol import Labels, Protocol, bare
from reactext.reading.beginnings import (
    MORE,
    Pattern,
    Undecided,
    captured,
    either,
    literal,
    maybe,
    sequence,
    some,
    words,
)

# A line whose label has not ended here has none: so each line costs the same.
_REACH = 120

# Marks, bullets and emoji: whatever is no letter, digit, blank line, quote, bracket or full stop.
_DRESS = r"^\w\n\"'“”‘’«»「」『』()\[\]{}<（）【】:：,，.。;；!?！？"
_LINE_END = r"(?=\n)"
_ALONE = r"[ \t\r]{0,8}" + _LINE_END
_ROLES = ("assistant", "ai", "bot", "助手", "system response")


@dataclass(frozen=True, slots=True)
class Label:
    """A label in a text: what it announces, and from where to where it goes.

    ``has_colon`` is False for one alone on its line. ``is_weak`` says that the word is also an
    everyday one ("Result"), which counts only where such a label is due. ``dress`` is what stands
    before it on its line.
    """

    kind: str
    start: int
    end: int
    written: str
    has_colon: bool = True
    is_weak: bool = False
    is_canonical: bool = False
    dress: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether nothing stands before it."""
        return not self.dress

    @property
    def is_starred(self) -> bool:
        """Whether nothing but markup for a heading, bold or a quotation stands before it."""
        return not self.dress.strip("*#_`> ")


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
        whole, begun = _patterns(tuple(dict.fromkeys(texts)), protocol.colon)
        if loose:
            whole = whole.replace(_ALONE, rf"(?:{_ALONE}|[ \t])")
        self._whole = re.compile(whole, re.IGNORECASE)
        self._last = re.compile(whole.replace(_LINE_END, r"(?=\n|\Z)"), re.IGNORECASE)
        self._begun = re.compile(begun, re.IGNORECASE)

    def find(self, text: str, position: int, *, final: bool) -> Label | Undecided | None:
        """Return the label that begins the line at ``position``, or None.

        MORE is returned when only the text that comes next can tell; never if ``final``.
        """
        reach = position + _REACH
        found = (self._last if final else self._whole).match(text, position, reach)
        if found is not None and (final or found.end() < len(text)):
            return self._label(found)
        if not final and len(text) < reach and self._begun.match(text, position):
            return MORE
        return None

    def tag(self, name: str, start: int, end: int) -> Label | None:
        """Return the label that ``<name>`` is, or None."""
        kind = self._kinds.get(bare(name))
        return Label(kind, start, end, name, dress="<") if kind else None

    def is_residue(self, line: str, *, strict: bool) -> bool:
        """Whether a line is the beginning of an observation's label, cut within the word.

        ``strict`` wants more of it, as written.
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
            and (not strict or stripped[0].isupper() or not stripped.isascii())
            for each, kind in self._kinds.items()
        ) and bool(name)

    def _label(self, found: re.Match[str]) -> Label | None:
        written = found["bracketed"] or found["label"]
        if found["bracketed"] == "TOOL_CALLS":
            return None  # a mark of Mistral's, not a label
        name = bare(re.sub(r"\d+", "", written))
        kind = self._kinds[name]
        if found["paper"] is not None and kind != "observation":
            return None
        dress = found["dress"].strip()
        is_bold = any(each in "*_`~" for each in dress)
        return Label(
            kind=kind,
            start=found.start(),
            end=found.end() if is_bold or found["tail"] is None else found.start("tail"),
            written=written,
            has_colon=found["alone"] is None,
            is_weak=name in _WEAK and name not in self._canonical,
            is_canonical=name in self._canonical,
            dress=dress if found["bracketed"] is None else f"{dress}[",
        )


def _vocabulary(protocol: Protocol) -> dict[str, str]:
    """Return what each label announces; the protocol's own labels come before the known ones."""
    kinds = {bare(each): name for name, written in Labels() for each in written}
    kinds |= {bare(each): name for name, written in protocol.labels for each in written}
    return kinds


@lru_cache(maxsize=16)
def _patterns(texts: tuple[str, ...], colon: str) -> tuple[str, str]:
    """Return the expression for a label, with a hole for the line's end, and for its beginnings."""
    number = sequence(some(r"\d", 1, 3), some(r" \t_\-", 0, 2))
    label = words(map(str.casefold, texts), sequence(some(r" \t_\-", 0, 2), maybe(number)))
    colons = either(map(literal, sorted({":", "：", colon}, key=len, reverse=True)))
    mark = sequence(some(_DRESS, 0, 24), some("_", 0, 2))
    count = sequence(
        maybe(sequence(literal("step"), some(" ", 0, 1))),
        some(r"\d", 1, 3),
        some(r".:)、．)：\-", 1, 2),
        some(r" \t*_`", 0, 6),
    )
    role = sequence(words(_ROLES, some(" ", 1, 1)), some(":：", 1, 1), some(r" \t*_`", 0, 6))
    ending = sequence(some(r" \t_\-#", 0, 3), some(r"\d", 0, 3), some(r" \t*_`~✿", 0, 8))
    html = words(("b", "strong", "i", "em", "u"), Pattern("", ""))
    html_open = maybe(sequence(literal("<"), html, literal(">")))
    html_end = maybe(sequence(literal("</"), html, literal(">")))
    plain = sequence(
        html_open,
        captured("label", label),
        ending,
        html_end,
        either(
            [
                sequence(colons, captured("tail", some("*_`~", 0, 4)), html_end),
                Pattern(r"(?P<paper>(?=\[))", ""),
                captured("alone", Pattern(_ALONE, r"[ \t\r]{0,8}")),
            ]
        ),
    )
    bracketed = sequence(
        some(r"\[【", 1, 1),
        captured("bracketed", label),
        ending,
        some(r"\]】", 1, 1),
        maybe(colons),
    )
    opening = captured("dress", sequence(mark, maybe(count), maybe(role)))
    line = sequence(opening, either([plain, bracketed]))
    begun = re.sub(r"\(\?P<\w+>", "(?:", f"(?:{line.begun}|{line.whole})")
    return line.whole, begun + r"\Z"
