"""Which tool is meant by the name that a model wrote."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reactext.protocol import bare
from reactext.reading.placeholders import is_name_placeholder
from reactext.tools import Tool, Toolbox, folded

_DRESS = " \t\r\n`*_~\"'“”‘’「」『』【】[]<>#@$>-–—•·.,:;!。，：；！、|"
_TAIL_DRESS = _DRESS.replace("_", "").replace("-", "") + "*_("
_NONE = re.compile(
    r"(?:none|n/?\.?a\.?|null|nil|nothing|not (?:needed|applicable|required)|skip"
    r"|no (?:tool|action|function|further action|more action|call)s?"
    r"|无|無|没有|沒有|无需|不需要|暂无|空|なし|不要|없음|ninguna|ninguno|aucune?|rien|keine?|nenhuma?|nessuna?|нет)"
    r"(?:[ ,.;:(\-–—。，（].{0,200})?\Z",
    re.IGNORECASE | re.DOTALL,
)
# nothing(x=1), skip("a"): a call, if of no tool there is. None(no tool is needed) is none.
_GIVES_ARGUMENTS = re.compile(r"\w[`*\"']{0,3}\s?[(（]\s*(?:[^\W\d]\w*\s*[=＝]|[\"'“‘\d\[{])")
_ANSWERS = {
    "finish", "finished", "finalanswer", "finalresponse", "finalresult", "answer", "theanswer",
    "giveanswer", "submitanswer", "provideanswer", "givefinalanswer", "providefinalanswer",
    "finishtask", "finishaction", "finalanswertool", "terminate", "finaloutput",
    "完成", "结束", "最终答案", "最终回答", "給出答案", "给出答案",
}  # fmt: skip
_WORD = re.compile(r"[\w.\-]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Named:
    """The name that counts; ``tool`` is None where none is known by it.

    ``problem`` is set, for the model, where no single tool can be meant.
    """

    name: str
    tool: Tool | None = None
    repair: str = ""
    problem: str = ""
    names_several: bool = False


def is_none(text: str) -> bool:
    """Whether the model says that it calls nothing."""
    if _GIVES_ARGUMENTS.search(text[:_LONGEST]):
        return False
    cleaned = text.strip(_DRESS + "()（）")
    return len(cleaned) < _LONGEST and (
        _NONE.match(cleaned) is not None or text.strip() in ("-", "—")
    )


_ANSWER_FOLLOWS = re.compile(
    r"\b(?:do(?:es)?(?: not|n['’]t)|no longer|not?) (?:\w+ )?(?:need|requir|necess|use)"
    r"|\bno need\b|\bneed no\b"
    r"|\b(?:provide|give|write|deliver|return|state|present|formulate|produce)\b.{0,20}\banswer\b"
    r"|\banswer (?:the|this|directly|now)|\b(?:respond|reply) (?:directly|to the)"
    r"|(?:不|无)(?:需|用|必)|直接回答|给出.{0,6}答案",
    re.IGNORECASE,
)


def says_answer_follows(text: str) -> bool:
    """Whether a phrase in place of a tool says that none is needed, or that it will answer."""
    return len(text) < _LONGEST and _ANSWER_FOLLOWS.search(text) is not None


def is_answer(name: str, tools: Toolbox | None, labels: tuple[str, ...] = ()) -> bool:
    """Whether a name that is no tool's says that the answer follows."""
    if len(name) > _LONGEST:
        return False
    cleaned = undressed(name)
    if tools is not None and resolve_exactly(cleaned, tools) is not None:
        return False
    return bare(cleaned) in _ANSWERS or any(bare(cleaned) == bare(each) for each in labels)


def undressed(written: str) -> str:
    """Return a name without its decoration: backticks, stars, brackets, a bullet, a full stop."""
    name = re.sub(r"^\s*(?:\d{1,2}[.):、]|\(\d{1,2}\))\s+", "", written)
    name = name.strip(" \t\r\n").lstrip(_DRESS.replace("_", "") + "*")
    stripped = name.rstrip(_TAIL_DRESS.replace("_", ""))
    return re.sub(r"^__?(.*?)__?$", r"\1", stripped) if stripped.startswith("_") else stripped


def resolve_exactly(name: str, tools: Toolbox) -> Tool | None:
    """Return the tool of this name, or the only one whose name differs in case or blanks."""
    tool = tools.get(name)
    if tool is not None or not name or len(name) > _LONGEST:
        return tool
    key = folded(name)
    alike = [each for each in tools if folded(each.name) == key]
    return alike[0] if len(alike) == 1 else None


def resolve(written: str, tools: Toolbox | None) -> Named:
    """Return which tool is meant: by its name, a name like it, or the only one in a phrase."""
    text = written.strip()
    if tools is not None and (tool := tools.get(text)) is not None:
        return Named(tool.name, tool)
    if is_name_placeholder(text) and not _says_which(text, tools):
        return Named(text, problem=f"{text[:80]!r} is no tool but the place for one in the format")
    name = undressed(text)
    if not name:
        return Named("", problem="no tool is named")
    if tools is None:
        return _unknown(name, written)
    for candidate, repair in _candidates(name) if len(name) <= _LONGEST else ():
        tool = resolve_exactly(candidate, tools)
        if repair == "namespace" and _names_a_tool(name[: -len(candidate)], tools):
            break
        if tool is not None:
            return Named(tool.name, tool, repair if tool.name != text else "")
    found = _in_phrase(name[:_LONGEST], tools)
    if len(found) > 1:
        found = [each for each in found if each.name in _words(name)] or found
    if len(found) == 1:
        return Named(found[0].name, found[0], "tool named in a phrase")
    if len(found) > 1:
        names = " and ".join(each.name for each in found)
        return Named(
            name,
            problem=f"an action names one tool, and {name[:80]!r} names {names}",
            names_several=True,
        )
    return _unknown(name, written)


def _says_which(phrase: str, tools: Toolbox | None) -> bool:
    """``The action to take is search``: one tool, and none out of a list."""
    if tools is None or re.search(r"[\[{(<（【＜]|one of|之一", phrase[:_LONGEST]):
        return False
    return len(_in_phrase(phrase[:_LONGEST], tools)) == 1


def _names_a_tool(prefix: str, tools: Toolbox) -> bool:
    """Whether what seems to be a namespace is a tool of its own: two are named."""
    return resolve_exactly(prefix.strip("./:_"), tools) is not None


def _candidates(name: str) -> list[tuple[str, str]]:
    """The name, then without a remark in brackets, a number at its end, a namespace before it."""
    plain = re.split(r"\s*[(（\[]", name, maxsplit=1)[0]
    unnumbered = re.sub(r":\d+$|\.call$", "", plain)
    found = [(name, "tool name"), (plain, "remark after the tool name"), (unnumbered, "tool name")]
    parts = re.split(r"\.|::|/|__(?=\w)|:(?=\w)", unnumbered)
    position = 0
    for each in parts[:-1]:
        position = unnumbered.index(each, position) + len(each)
        rest = re.sub(r"^(?:\.|::|/|__|:)", "", unnumbered[position:])
        found.append((rest, "namespace"))
    return found


def _unknown(name: str, written: str) -> Named:
    words = name.split()
    if len(words) > 3 or len(name) > 80 or "\n" in name:
        return Named(name, problem=f"no tool is named in {written.strip()[:80]!r}")
    return Named(name)


def _words(phrase: str) -> set[str]:
    return {each.strip(".") for each in _WORD.findall(phrase[:_LONGEST])}


def _in_phrase(phrase: str, tools: Toolbox) -> list[Tool]:
    """Return the tools that a phrase names, each once; where two overlap, the longer one."""
    by_key = {folded(each.name): each for each in tools}
    found: dict[str, Tool] = {}
    words = _WORD.findall(phrase)
    index = 0
    while index < len(words):
        for length in (4, 3, 2, 1):
            run = words[index : index + length]
            tool = by_key.get(folded("".join(run).strip("."))) if len(run) == length else None
            if tool is not None:
                found[tool.name] = tool
                index += length - 1
                break
        index += 1
    rest = phrase
    for tool in sorted(tools, key=lambda each: -len(each.name)):
        if _CJK.search(tool.name) and tool.name in rest:
            found[tool.name] = tool
            rest = rest.replace(tool.name, " ")
    return list(found.values())
