"""An Ollama server as the documented one behaves, with a model that follows a script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from wire_server import Asked, chunked, sized

CHATML = (
    "{{- if .Messages }}\n{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n"
    "{{ end }}<|im_start|>assistant\n{{ end }}{{ .Response }}<|im_end|>"
)
LLAMA3 = (
    "<|start_header_id|>user<|end_header_id|>\n\n{{ .Prompt }}<|eot_id|>"
    "<|start_header_id|>assistant<|end_header_id|>\n\n{{ .Response }}<|eot_id|>"
)
R1 = "{{ if .System }}{{ .System }}{{ end }}<｜User｜>{{ .Prompt }}<｜Assistant｜><think>\n{{ .Thinking }}</think>"


@dataclass(frozen=True)
class Model:
    """One model of the server."""

    name: str
    template: str
    family: str
    trained: int
    capabilities: tuple[str, ...] = ("completion", "tools")
    parameters: str = ""
    remote: bool = False


MODELS = (
    Model(
        "qwen2.5:7b",
        CHATML,
        "qwen2",
        32768,
        parameters='stop                           "<|im_start|>"\nstop                           "<|im_end|>"',
    ),
    Model("llama3.2:latest", LLAMA3, "llama", 131072),
    Model(
        "long:1b",
        CHATML,
        "qwen2",
        131072,
        parameters="num_ctx                        16384\ntemperature                    0.6",
    ),
    Model("tiny:latest", "{{ .Prompt }}", "gpt2", 1024, ("completion",)),
    Model("deepseek-r1:8b", R1, "qwen3", 131072, ("completion", "thinking")),
    Model("nomic-embed-text:latest", "{{ .Prompt }}", "nomic-bert", 2048, ("embedding",)),
)


@dataclass
class OllamaServer:
    """The script of a server; ``loads`` holds the options that each loading was made with."""

    texts: Sequence[str]
    loads: list[tuple[str, Any, Any]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Iterable[Any]:
        answers: dict[str, Callable[[Any], bytes]] = {
            "/": lambda _: sized(b"Ollama is running", content_type="text/plain; charset=utf-8"),
            "/api/version": lambda _: _json({"version": "0.33.0"}),
            "/api/tags": lambda _: _json({"models": [_listed(model) for model in MODELS]}),
            "/api/ps": lambda _: _json(
                {"models": [self._loaded(load) for load in self.loads[-1:]]}
            ),
            "/api/show": lambda body: self._show(body),
        }
        if asked.path == "/api/generate":
            return self._generate(asked.body)
        answer = answers.get(asked.path)
        if answer is None:
            return [sized(b"404 page not found", 404, "text/plain")]
        return [answer(asked.body if asked.content else {})]

    def _find(self, name: str) -> Model | None:
        full = name if ":" in name else f"{name}:latest"
        return next((model for model in MODELS if model.name == full), None)

    def _loaded(self, load: tuple[str, Any, Any]) -> dict[str, Any]:
        model = self._find(load[0])
        assert model is not None
        return {
            **_listed(model),
            "expires_at": "2026-01-01T00:05:00.123456789Z",
            "size_vram": 5_000_000_000,
            "context_length": load[1],
        }

    def _show(self, body: dict[str, Any]) -> bytes:
        model = self._find(body["model"])
        if model is None:
            return _json({"error": f"model '{body['model']}' not found"}, 404)
        return _json(
            {
                "license": "Apache License\n" * 20,
                "modelfile": f"FROM {model.name}\n",
                **({"parameters": model.parameters} if model.parameters else {}),
                "template": model.template,
                "system": "You are a helpful assistant.",
                "details": _details(model),
                "model_info": {
                    "general.architecture": model.family,
                    "general.parameter_count": 7_615_616_512,
                    f"{model.family}.attention.head_count": 28,
                    f"{model.family}.context_length": model.trained,
                    f"{model.family}.rope.freq_base": 1e6,
                    "tokenizer.ggml.model": "gpt2",
                    "tokenizer.ggml.tokens": None,
                },
                "tensors": [{"name": "token_embd.weight", "type": "Q4_K", "shape": [3584, 152064]}],
                "capabilities": list(model.capabilities),
                "modified_at": "2026-01-01T00:00:00.123456789+01:00",
            }
        )

    def _generate(self, body: dict[str, Any]) -> Iterable[Any]:
        model = self._find(body["model"])
        if model is None:
            return [_json({"error": f"model '{body['model']}' not found"}, 404)]
        if "completion" not in model.capabilities:
            return [_json({"error": f'"{body["model"]}" does not support generate'}, 400)]
        options = body["options"]
        if not isinstance(options.get("stop", []), list):
            return [_json({"error": 'option "stop" must be of type array'}, 500)]
        load = (model.name, min(options["num_ctx"], model.trained), body.get("shift", True))
        if load not in self.loads[-1:]:
            self.loads.append(load)
        tokens = len(re.findall(r"\w+|\W", body["prompt"]))
        if tokens >= load[1]:
            return [_json({"error": _overflow(tokens, load[1])}, 400)]
        return chunked(list(self._stream(model, body, tokens)), "application/x-ndjson")

    def _stream(self, model: Model, body: dict[str, Any], tokens: int) -> Iterable[bytes]:
        options = body["options"]
        text = self._text(body["prompt"])
        at = min((text.find(stop) for stop in options["stop"] if stop in text), default=-1)
        words = re.findall(r"\s*\S+|\s+$", text if at < 0 else text[:at])
        # the splitter of reasoning is on unless it is switched off, in raw mode too
        hidden = "thinking" in model.capabilities and body.get("think") is not False
        cut = words[: options["num_predict"]]
        for word in cut:
            piece = {"response": "", "thinking": word} if hidden else {"response": word}
            yield _line({"model": body["model"], "created_at": _NOW, **piece, "done": False})
        yield _line(
            {
                "model": body["model"],
                "created_at": _NOW,
                "response": "",
                "done": True,
                "done_reason": "stop" if len(cut) == len(words) else "length",
                "total_duration": 4_648_158_584,
                "load_duration": 4_071_084,
                "prompt_eval_count": tokens,
                "prompt_eval_duration": 439_038_000,
                "eval_count": len(cut) + 1,
                "eval_duration": 4_196_918_000,
            }
        )

    def _text(self, prompt: str) -> str:
        if prompt.endswith("Final Answer:"):
            return " 42"
        if "Question" not in prompt[-4000:] or "Observation: x" in prompt:
            return " five six seven eight nine ten"
        self.told.append(prompt)
        return self.texts[min(len(self.told), len(self.texts)) - 1]


_NOW = "2026-01-01T00:00:00.123456789Z"


def _details(model: Model) -> dict[str, Any]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": model.family,
        "families": [model.family],
        "parameter_size": "7.6B",
        "quantization_level": "Q4_K_M",
    }


def _listed(model: Model) -> dict[str, Any]:
    return {
        "name": model.name,
        "model": model.name,
        "modified_at": "2026-01-01T00:00:00.123456789+01:00",
        "size": 4_683_087_332,
        "digest": "845dbda0ea48ed749caafd9e6037047aa19acfcfd82e704d7ca97d631a0b697e",
        "details": _details(model),
    }


def _overflow(tokens: int, window: int) -> str:
    message = (
        f"request ({tokens} tokens) exceeds the available context size ({window} tokens), "
        "try increasing it"
    )
    error = {
        "code": 400,
        "message": message,
        "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens,
        "n_ctx": window,
    }
    return json.dumps({"error": error})


def _json(value: Any, status: int = 200) -> bytes:
    body = json.dumps(value, separators=(",", ":")).encode()
    return sized(body, status, "application/json; charset=utf-8")


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"
