"""A model from its name, or whatever is there."""

from __future__ import annotations

from typing import Any

import pytest
from wire_server import as_json, serving

from reactext.backends import EmbeddedModel, model
from reactext.errors import SetupError


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("ollama:qwen2.5:7b", "OllamaModel('qwen2.5:7b', 'http://127.0.0.1:11434')"),
        ("ollama:hf.co/me/it:Q4", "OllamaModel('hf.co/me/it:Q4', 'http://127.0.0.1:11434')"),
        ("embedded", "EmbeddedModel('qwen2.5-coder-0.5b')"),
        ("embedded:smollm2-135m", "EmbeddedModel('smollm2-135m')"),
        ("embedded:/some/path.gguf", "EmbeddedModel('/some/path.gguf')"),
        ("embedded:C:\\some\\path.gguf", "EmbeddedModel('C:\\\\some\\\\path.gguf')"),
        ("llamacpp:http://10.0.0.1:8080", "LlamaCppModel('http://10.0.0.1:8080')"),
        ("llamacpp:", "LlamaCppModel('http://127.0.0.1:8080')"),
        ("openai:http://10.0.0.1:8000/v1#a/b", "OpenAICompletionModel('http://10.0.0.1:8000/v1')"),
        ("openai:http://10.0.0.1:8000", "OpenAICompletionModel('http://10.0.0.1:8000/v1')"),
    ],
)
def test_a_name_and_its_model(spec: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    assert repr(model(spec)) == shown
    monkeypatch.setenv("REACTEXT_MODEL", spec)
    assert repr(model()) == shown


@pytest.mark.parametrize("spec", ["qwen2.5:7b", "openai", "openai:", "gpt:x", ":", "embeded"])
def test_what_names_no_model_is_told_the_forms(spec: str) -> None:
    with pytest.raises(SetupError, match=r'names no model; write "ollama:'):
        model(spec)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "https://gpu-box/v1"])
def test_an_address_alone_is_told_what_it_may_be(url: str) -> None:
    with pytest.raises(SetupError) as raised:
        model(url)
    for form in (f"llamacpp:{url}", f"openai:{url}", f"OLLAMA_HOST={url}"):
        assert form in str(raised.value)


@pytest.mark.parametrize("spec", ["llamacpp:here", "openai:here"])
def test_an_address_that_is_none(spec: str) -> None:
    with pytest.raises(SetupError, match="not the address"):
        model(spec)


EMBEDS = {"name": "nomic-embed-text:latest", "capabilities": ["embedding"]}
OLDER = {"name": "llama3.1:latest", "capabilities": ["completion", "tools"]}
PLAIN = {"name": "qwen2.5:7b"}

THERE = [
    # (title, loaded, fetched, the model that is taken)
    ("the one loaded", [PLAIN], [OLDER, PLAIN], "qwen2.5:7b"),
    ("the one fetched last", [], [OLDER, PLAIN], "llama3.1:latest"),
    ("none that only embeds", [EMBEDS], [EMBEDS, PLAIN], "qwen2.5:7b"),
    ("none", [], [], None),
    ("none but one that embeds", [], [EMBEDS], None),
    ("odd answers", [3], "x", None),
]


@pytest.mark.parametrize(
    ("loaded", "fetched", "name"), [row[1:] for row in THERE], ids=[row[0] for row in THERE]
)
def test_whatever_is_there(
    loaded: Any, fetched: Any, name: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"/api/ps": {"models": loaded}, "/api/tags": {"models": fetched}}
    monkeypatch.delenv("REACTEXT_MODEL", raising=False)
    with serving(lambda asked: [as_json(answers[asked.path])]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        if name is None:
            assert isinstance(model(), EmbeddedModel)
            with pytest.raises(SetupError, match="no Ollama server with a model answers"):
                model("ollama")
        else:
            assert (
                repr(model()) == repr(model("ollama")) == f"OllamaModel('{name}', '{server.url}')"
            )


def test_without_a_server_it_is_the_embedded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: []) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
    monkeypatch.delenv("REACTEXT_MODEL", raising=False)
    assert repr(model()) == "EmbeddedModel('qwen2.5-coder-0.5b')"
