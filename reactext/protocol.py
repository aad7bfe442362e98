"""The labels and the call syntax of the text protocol: what we write, and what we read besides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reactext.errors import SetupError
from reactext.models import Value


class Labels(Value):
    """The labels, each with its synonyms: the first is written, all are read.

    They are given without their colon, and are read in any case, with a space, ``_``, ``-`` or
    nothing between their words.
    """

    question: tuple[str, ...] = (
        "Question", "User Input", "User", "Human", "New Input",
        "用户", "用户输入", "问题", "問題", "質問", "Pregunta", "Usuario", "Utilisateur", "Frage",
    )  # fmt: skip
    thought: tuple[str, ...] = (
        "Thought", "Thoughts", "Thinking", "Thought Process", "Reasoning", "Reflection",
        "思考", "思考过程", "思路", "想法", "思考過程", "考え", "생각",
        "Pensamiento", "Razonamiento", "Pensée", "Réflexion", "Raisonnement",
        "Gedanke", "Gedanken", "Überlegung", "Pensamento", "Pensiero", "Мысль",
    )  # fmt: skip
    action: tuple[str, ...] = (
        "Action", "Actions", "Action Name", "Tool", "Tool Name", "Tool Call", "Tool Calls",
        "Tool Use", "Function", "Function Call",
        "行动", "动作", "操作", "执行", "工具", "调用工具", "工具调用",
        "行動", "動作", "執行", "工具調用",
        "アクション", "ツール", "행동", "도구", "Acción", "Herramienta", "Outil",
        "Aktion", "Werkzeug", "Ação", "Ferramenta", "Azione", "Strumento", "Действие",
    )  # fmt: skip
    action_input: tuple[str, ...] = (
        "Action Input", "Action Inputs", "Action Arguments", "Action Args", "Action Parameters",
        "Tool Input", "Tool Inputs", "Tool Arguments", "Tool Args", "Tool Parameters",
        "Function Input", "Function Arguments", "Input", "Inputs", "Arguments", "Args",
        "Parameters", "Params",
        "行动输入", "动作输入", "操作输入", "行动参数", "动作参数", "工具输入", "工具参数",
        "参数", "输入",
        "行動輸入", "動作輸入", "操作輸入", "行動參數", "動作參數", "工具輸入", "參數", "輸入",
        "行動入力", "行動の入力", "アクション入力", "アクションの入力", "ツール入力",
        "入力", "引数", "행동 입력", "입력",
        "Entrada de la acción", "Entrada de acción", "Entrada", "Parámetros", "Argumentos",
        "Entrée de l'action", "Entrée de l’action", "Entrée d'action", "Entrée", "Paramètres",
        "Aktionseingabe", "Aktions Eingabe", "Eingabe", "Parameter",
        "Entrada da ação", "Input dell'azione", "Входные данные",
    )  # fmt: skip
    observation: tuple[str, ...] = (
        "Observation", "Observations", "Observation Result", "Tool Output", "Tool Result",
        "Tool Response", "Function Output", "Function Result", "Action Output", "Action Result",
        "Result", "Results", "Output", "Response",
        "观察", "观察结果", "观测", "观测结果", "工具结果", "工具输出", "返回结果", "执行结果",
        "结果",
        "觀察", "觀察結果", "觀測", "工具結果", "返回結果", "執行結果", "結果",
        "観察", "観察結果", "観測", "관찰", "관찰 결과", "결과",
        "Observación", "Observaciones", "Resultado", "Résultat", "Beobachtung", "Ergebnis",
        "Observação", "Osservazione", "Risultato", "Наблюдение", "Результат",
    )  # fmt: skip
    answer: tuple[str, ...] = (
        "Final Answer", "Answer", "The Final Answer", "Final Response", "Final Output",
        "最终答案", "最终回答", "最终回复", "答案", "回答", "最終答案", "最終回答", "最終的な答え",
        "最終的な回答", "答え", "최종 답변", "최종 답", "답변",
        "Respuesta final", "Respuesta", "Réponse finale", "Réponse", "Endgültige Antwort",
        "Finale Antwort", "Abschließende Antwort", "Endantwort", "Antwort",
        "Resposta final", "Resposta", "Risposta finale", "Risposta", "Окончательный ответ", "Ответ",
    )  # fmt: skip


class CallSyntax(Value):
    """How a call is written, and the grammar that reads it.

    The templates are filled with ``str.format``. ``grammar`` is the source of a Lark grammar, or
    the path of a ``.lark`` file, whose start rule is ``call``; empty is ours. It may import ours:
    ``%import reactext.calls (call, argument, value)``.
    """

    call: str = "{tool}({arguments})"
    argument: str = "{name}={value}"
    comma: str = ", "
    separator: str = " || "
    grammar: str = ""


class Protocol(Value):
    """Both directions of the text protocol: how it is asked for, and how it is read.

    Raises SetupError where a label is missing, or is the label of two things.
    """

    labels: Labels = Labels()
    colon: str = ":"
    calls: CallSyntax = CallSyntax()

    def __init__(
        self,
        *,
        labels: Labels | dict[str, Any] = Labels(),  # noqa: B008 (frozen)
        colon: str = ":",
        calls: CallSyntax | dict[str, Any] = CallSyntax(),  # noqa: B008 (frozen)
    ) -> None:
        given: dict[str, Any] = {"labels": labels, "colon": colon, "calls": calls}
        super().__init__(**given)
        _check_labels(self.labels)
        _check_syntax(self)

    def label(self, name: str) -> str:
        """The label as it is written: ``label("thought")`` is ``"Thought:"``."""
        written: str = getattr(self.labels, name)[0]
        return written + self.colon


def bare(label: str) -> str:
    """Return a label without what may differ from text to text: case, spaces, ``_`` and ``-``."""
    return "".join(each for each in label.casefold() if each not in " \t_-")


def _check_labels(labels: Labels) -> None:
    owners: dict[str, str] = {}
    for name, written in labels:
        if not written or not all(each.strip() for each in written):
            raise SetupError(f"labels.{name} has no text; give at least one label, without colon")
        for each in written:
            if each != each.strip() or "\n" in each or not any(map(str.isalpha, each)):
                raise SetupError(
                    f"labels.{name} has {each!r}; a label is a few words on one line, "
                    "without blanks at its ends"
                )
            owner = owners.setdefault(bare(each), name)
            if owner != name:
                raise SetupError(f"{each!r} stands in labels.{owner} and in labels.{name}")


def _check_syntax(protocol: Protocol) -> None:
    if not protocol.colon.strip() or "\n" in protocol.colon:
        raise SetupError(f"colon is {protocol.colon!r}; give what ends a label, such as ':'")
    calls = protocol.calls
    wanted = {"call": ("tool", "arguments"), "argument": ("value",)}
    for field, names in wanted.items():
        template = getattr(calls, field)
        for name in names:
            if f"{{{name}}}" not in template:
                raise SetupError(f"calls.{field} is {template!r}; it must hold {{{name}}}")
        try:
            template.format(tool="", arguments="", name="", value="")
        except (LookupError, ValueError) as error:
            raise SetupError(
                f"calls.{field} is {template!r}, which str.format cannot fill ({error}); write "
                f"{' and '.join(f'{{{name}}}' for name in names)}, and other braces twice"
            ) from error
    if not calls.separator.strip():
        raise SetupError(f"calls.separator is {calls.separator!r}; it must not be blank")


def grammar_source(calls: CallSyntax) -> tuple[str, str]:
    """Return a user's grammar and where it stands, for messages."""
    given = calls.grammar
    if "\n" in given or not given.endswith(".lark"):
        return given, "calls.grammar"
    try:
        return Path(given).read_text(encoding="utf-8"), given
    except OSError as error:
        raise SetupError(f"the grammar {given} cannot be read: {error.strerror}") from error
