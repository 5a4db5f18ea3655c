"""A language model that follows a script, behind the real wire formats of its providers, on loopback.

`script` says what the model does, `server` is the HTTP server with its log; `anthropic`, `gemini` and `openai`
translate.
"""

from tests.clients.stubs.anthropic import AnthropicStub
from tests.clients.stubs.gemini import GeminiStub
from tests.clients.stubs.openai import OpenAIStub
from tests.clients.stubs.script import call
from tests.clients.stubs.server import Exchange, ModelStub

__all__ = ["AnthropicStub", "Exchange", "GeminiStub", "ModelStub", "OpenAIStub", "call"]
