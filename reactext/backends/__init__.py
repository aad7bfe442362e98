"""Models behind servers: each speaks one API, and all keep the promises of `CompletionModel`."""

from reactext.backends._reply import Timeouts
from reactext.backends._retry import NEVER, Retry
from reactext.backends._spec import model
from reactext.backends.embedded import EmbeddedModel
from reactext.backends.llamacpp import LlamaCppModel
from reactext.backends.ollama import OllamaModel
from reactext.backends.openai import OpenAICompletionModel

__all__ = [
    "NEVER",
    "EmbeddedModel",
    "LlamaCppModel",
    "OllamaModel",
    "OpenAICompletionModel",
    "Retry",
    "Timeouts",
    "model",
]
