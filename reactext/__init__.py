"""reactext: any model that can continue a text becomes an agent.

from reactext import Engine, OllamaModel, tool

@tool
def get_weather(city: str) -> str:
    '''Weather forecast for a city.'''
    ...

engine = Engine(OllamaModel("qwen2.5:7b"), tools=[get_weather])
print(engine.run("What should I pack for Shanghai?").answer)
"""

from __future__ import annotations

from reactext._version import __version__
from reactext.approval import Answered, Approved, Edited, Rejected
from reactext.asynchronous import AsyncRun
from reactext.backends import (
    EmbeddedModel,
    LlamaCppModel,
    OllamaModel,
    OpenAICompletionModel,
    model,
)
from reactext.cancellation import Cancellation
from reactext.completion import Completion, CompletionModel, ModelCard, Piece, ScriptedModel
from reactext.context import ExecutionContext, Finished
from reactext.engine import Engine
from reactext.errors import (
    CompletionError,
    ContextOverflow,
    ContextTruncated,
    LimitReached,
    ModelMissing,
    ReactextError,
    ServerBusy,
    ServerFault,
    ServerUnreachable,
    SetupError,
    StreamCut,
    TurnError,
)
from reactext.hooks import AnswerNow, FinishRun, Hook, Moment
from reactext.models import Action, Correction, Observation, Step, TextDelta, Turn, Usage
from reactext.protocol import Labels, Protocol
from reactext.reader import TurnReader, parse
from reactext.recording import RecordingModel, ReplayModel
from reactext.run import Run
from reactext.tools import Retry, RunContext, Tool, Toolbox, tool
from reactext.tracing import Trace

__all__ = [
    "Action",
    "AnswerNow",
    "Answered",
    "Approved",
    "AsyncRun",
    "Cancellation",
    "Completion",
    "CompletionError",
    "CompletionModel",
    "ContextOverflow",
    "ContextTruncated",
    "Correction",
    "Edited",
    "EmbeddedModel",
    "Engine",
    "ExecutionContext",
    "FinishRun",
    "Finished",
    "Hook",
    "Labels",
    "LimitReached",
    "LlamaCppModel",
    "ModelCard",
    "ModelMissing",
    "Moment",
    "Observation",
    "OllamaModel",
    "OpenAICompletionModel",
    "Piece",
    "Protocol",
    "ReactextError",
    "RecordingModel",
    "Rejected",
    "ReplayModel",
    "Retry",
    "Run",
    "RunContext",
    "ScriptedModel",
    "ServerBusy",
    "ServerFault",
    "ServerUnreachable",
    "SetupError",
    "Step",
    "StreamCut",
    "TextDelta",
    "Tool",
    "Toolbox",
    "Trace",
    "Turn",
    "TurnError",
    "TurnReader",
    "Usage",
    "__version__",
    "model",
    "parse",
    "tool",
]
