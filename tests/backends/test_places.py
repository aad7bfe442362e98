"""Addresses, names of models and chat templates are read as their owners read them."""

from __future__ import annotations

import re

import pytest

from reactext.backends._address import checked_url, is_loopback, surroundings
from reactext.backends._family import frame_of_name, frame_of_template, thinks
from reactext.backends._ollama_host import ollama_url
from reactext.errors import SetupError


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("  ", "http://127.0.0.1:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        ("1.2.3.4:5", "http://1.2.3.4:5"),
        ("example.org", "http://example.org:11434"),
        ("http://example.org", "http://example.org:80"),
        ("https://example.org", "https://example.org:443"),
        ("https://example.org:8443", "https://example.org:8443"),
        ("ollama.com", "https://ollama.com:443"),
        ("http://example.org/ollama/", "http://example.org:80/ollama"),
        ("example.org/ollama", "http://example.org:11434/ollama"),
        (":1234", "http://127.0.0.1:1234"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:99", "http://127.0.0.1:99"),
        ("http://0.0.0.0:99", "http://127.0.0.1:99"),
        ("::", "http://[::1]:11434"),
        ("[::]:99", "http://[::1]:99"),
        ("::1", "http://[::1]:11434"),
        ("[::1]", "http://[::1]:11434"),
        ("[fe80::2]:99", "http://[fe80::2]:99"),
        ("localhost", "http://127.0.0.1:11434"),
        ("localhost:99", "http://127.0.0.1:99"),
        ('"1.2.3.4"', "http://1.2.3.4:11434"),
        (" 'example.org:5' ", "http://example.org:5"),
        ("example.org:", "http://example.org:11434"),
    ],
)
def test_ollama_host_in_all_its_forms(host: str, url: str) -> None:
    assert ollama_url(host) == url


@pytest.mark.parametrize("port", ["port", "99999", "0", "-1", "1.5", "9" * 5000, "²"])
@pytest.mark.parametrize("host", ["example.org", "http://example.org", "[::1]", ""])
def test_a_port_that_is_none_is_not_another(host: str, port: str) -> None:
    with pytest.raises(SetupError, match=re.escape(f"has the port '{port}', which is none")):
        ollama_url(f"{host}:{port}")


@pytest.mark.parametrize(
    "url",
    ["", "example.org", "ftp://example.org", "http://", "http://x:port", "http://[::1", "/v1"],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(SetupError, match="not the address"):
        checked_url(url)


def test_an_address_with_a_password_is_refused_without_showing_it() -> None:
    with pytest.raises(SetupError, match="must not hold a user") as raised:
        checked_url("http://me:sesame@example.org")
    assert "sesame" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.9.9.9", True),
        ("http://[::1]:1", True),
        ("http://localhost", True),
        ("http://a.localhost", True),
        ("http://10.0.0.1", False),
        ("http://localhost.example.org", False),
        ("https://example.org", False),
    ],
)
def test_this_very_machine_is_reached_without_a_proxy(
    url: str, here: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scheme in ("HTTP", "HTTPS"):
        monkeypatch.setenv(f"{scheme}_PROXY", "http://proxy:3128")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/ca.pem")
    assert is_loopback(url) is here
    found = surroundings(url)
    assert found["verify"] == "/ca.pem"
    assert ("http://proxy:3128" in found["proxies"].values()) is not here


CHATML = (
    "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>'}}"
)

TEMPLATES = [
    # (title, template, frame, whether it thinks)
    ("a base model of Ollama", "{{ .Prompt }}", "plain", False),
    ("none", "", "plain", False),
    (
        "Go, chatml",
        "<|im_start|>user\n{{ .Prompt }}<|im_end|>\n<|im_start|>assistant\n",
        "chatml",
        False,
    ),
    ("Jinja, chatml", CHATML, "chatml", False),
    ("Jinja, thinking", CHATML + "{{ '<think>\n\n</think>\n\n' }}", "qwen3", True),
    (
        "Go, llama 3",
        "<|start_header_id|>user<|end_header_id|>\n\n{{ .Prompt }}<|eot_id|>",
        "llama3",
        False,
    ),
    ("gemma", "<start_of_turn>user\n{{ .Prompt }}<end_of_turn>\n", "gemma", False),
    ("mistral", "[INST] {{ .Prompt }}[/INST]", "mistral", False),
    ("Go, phi 3", "<|user|>\n{{ .Prompt }}<|end|>\n<|assistant|>\n", "phi", False),
    (
        "Jinja, phi 3",
        "{{'<|' + message['role'] + '|>' + '\n' + message['content'] + '<|end|>'}}",
        "phi",
        False,
    ),
    ("phi 4", "<|im_start|>user<|im_sep|>{{ .Prompt }}<|im_end|>", "chatml", False),
    ("deepseek", "<｜User｜>{{ .Prompt }}<｜Assistant｜>", "deepseek", False),
    ("deepseek r1", "<｜User｜>{{ .Prompt }}<｜Assistant｜><think>\n", "deepseek", True),
    ("one that we do not know", "<|start_of_role|>user<|end_of_role|>", "plain", False),
    ("bars without an end of turn", "<|user|>\n{{ .Prompt }}</s>\n<|assistant|>", "plain", False),
]


@pytest.mark.parametrize(
    ("template", "frame", "thinking"), [row[1:] for row in TEMPLATES], ids=[r[0] for r in TEMPLATES]
)
def test_the_frame_that_speaks_as_a_template_does(
    template: str, frame: str, thinking: bool
) -> None:
    assert frame_of_template(template) == frame
    assert thinks(template) is thinking


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "chatml"),
        ("Qwen/Qwen2.5-7B", "plain"),
        ("Qwen/Qwen2.5-Coder-7B-Instruct-AWQ", "chatml"),
        ("Qwen/Qwen3-8B", "qwen3"),
        ("Qwen/Qwen3-8B-Base", "plain"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "chatml"),
        ("Qwen/QwQ-32B", "qwen3"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3"),
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3"),
        ("meta-llama/Llama-3.1-8B", "plain"),
        ("google/gemma-2-9b-it", "gemma"),
        ("google/gemma-2-9b", "plain"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mistral"),
        ("mistralai/Mistral-7B-v0.3", "plain"),
        ("microsoft/Phi-3.5-mini-instruct", "phi"),
        ("microsoft/Phi-4-mini-instruct", "phi"),
        ("microsoft/phi-4", "chatml"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "deepseek"),
        ("deepseek-ai/DeepSeek-V2-Chat", "deepseek"),
        ("HuggingFaceTB/SmolLM2-1.7B-Instruct", "chatml"),
        ("somebody/something", "plain"),
        ("", "plain"),
    ],
)
def test_the_frame_guessed_from_a_name(name: str, frame: str) -> None:
    assert frame_of_name(name) == frame
