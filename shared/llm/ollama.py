"""Ollama: its models' chats, through langchain, and its embeddings, through its own client."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import httpx
from pydantic import BaseModel

from shared.base.errors import Configuration
from shared.llm.chat import ModelRequest, Question
from shared.llm.embedding import ServedEmbedder
from shared.llm.langchain_model import CallSeconds, Ending, LangchainModel
from shared.llm.model_server import ModelServer
from shared.llm.provider import (
    ModelTraits,
    Provider,
    Reported,
    ServerStatus,
    is_same_model,
    parameters_in,
    read_reported,
)
from shared.llm.tools import Exchange
from shared.llm.transport import DeadlineTransport, is_loopback, open_client

if TYPE_CHECKING:
    from langchain_core.messages import AIMessageChunk, BaseMessage

_BARE_TEMPLATE = re.compile(r"\{\{-?\s*\.Prompt\s*-?\}\}")


class Ollama(Provider):
    """An Ollama server; asks only for what loads no model."""

    name = "ollama"
    product = "Ollama"
    address_setting = "ollama_host"
    probe_path = "/api/version"
    lists_all = True
    more_at_once = "Raise OLLAMA_NUM_PARALLEL, for Ollama and here"

    def status(self, model: str, timeout_seconds: float) -> ServerStatus:
        """Ask for its version and its models."""
        host = self.host
        try:
            with open_client(self.address, timeout_seconds) as client:
                version = _get(client, "/api/version").get("version")
                models = _get(client, "/api/tags").get("models")
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return ServerStatus(model, host, remedy=_how_to_reach(host, error))
        except (ValueError, RecursionError):
            return ServerStatus(model, host, remedy=f"{host} answers, but is not Ollama: correct OLLAMA_HOST.")
        entries = models if isinstance(models, list) else []
        names = [str(one.get("model") or one.get("name")) for one in entries if isinstance(one, dict)]
        has_it = any(is_same_model(name, model) for name in names)
        remedy = None if has_it else self._missing(model)
        return ServerStatus(model, host, f"Ollama {version}", remedy, is_listed=has_it)

    def traits(self, model: str, timeout_seconds: float) -> ModelTraits:
        with open_client(self.address, timeout_seconds) as client:
            return traits_shown(ask_shown(client, model), model, self.settings.ollama_num_parallel)

    def refusal(self, model: str, status: int, needs: str) -> Configuration:
        return Configuration(self._missing(model)) if status == 404 else super().refusal(model, status, needs)

    def _missing(self, model: str) -> str:
        return f"Ollama at {self.host} has no model {model}. Run: ollama pull {model}"

    def make_model(self, model: str) -> LangchainModel:
        return OllamaModel(self, model)

    def make_embedder(self, model: str, seconds: float) -> ServedEmbedder:
        # Deferred: who embeds elsewhere never needs it.
        from ollama import Client

        server = OllamaServer(self)
        client = Client(self.address, **server.client_options)

        def request(texts: list[str]) -> tuple[Sequence[Sequence[float]], int | None]:
            answer = client.embed(model, texts)
            return answer.embeddings, answer.prompt_eval_count

        return ServedEmbedder(model, server, seconds, request)


PROVIDER = Ollama


def _get(client: httpx.Client, path: str) -> dict[str, Any]:
    response = client.get(path)
    response.raise_for_status()
    answer = response.json()
    if not isinstance(answer, dict):
        raise ValueError("not an object")
    return answer


def _how_to_reach(host: str, error: Exception) -> str:
    if isinstance(error, httpx.HTTPStatusError):
        return f"{host} answers with status {error.response.status_code}: is OLLAMA_HOST the address of Ollama?"
    why = type(error).__name__
    return f"Ollama cannot be reached at {host} ({why}). Start it with `ollama serve` or set OLLAMA_HOST."


class _ShownDetails(BaseModel):
    parameter_size: Reported[str] = None


class ShownModel(BaseModel):
    """``/api/show``."""

    model_info: Reported[dict[str, Any]] = None
    details: Reported[_ShownDetails] = None
    capabilities: Reported[list[str]] = None
    template: Reported[str] = None
    modelfile: Reported[str] = None
    parameters: Reported[str] = None
    renderer: Reported[str] = None


def ask_shown(client: httpx.Client, model: str) -> ShownModel:
    return read_reported(client.post("/api/show", json={"model": model}), ShownModel)


def traits_shown(shown: ShownModel, model: str, parallel: int) -> ModelTraits:
    if not shown.model_fields_set:
        return ModelTraits()
    about, size = shown.model_info or {}, shown.details and shown.details.parameter_size
    # Whether Ollama hands a prompt on as it stands. A model with a renderer has a bare template too, and is none.
    is_rendered = shown.renderer or "\nRENDERER " in (shown.modelfile or "")
    is_bare = _BARE_TEMPLATE.fullmatch((shown.template or "").strip()) is not None
    is_base = is_bare and not is_rendered and "tools" not in (shown.capabilities or ())
    return ModelTraits(
        parameters=_count(about.get("general.parameter_count")) or parameters_in(size or "") or parameters_in(model),
        context_tokens=next((_count(value) for key, value in about.items() if key.endswith(".context_length")), None),
        has_tools=None if shown.capabilities is None else "tools" in shown.capabilities,
        is_instruct=False if is_base else None,
        parallel=parallel,
        is_behind_ollama=True,
    )


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


class OllamaServer(ModelServer):
    """Its server, as Ollama's client reaches it."""

    def __init__(self, provider: Provider) -> None:
        # Deferred: who has no model never needs it.
        from ollama import ResponseError

        super().__init__(provider, DeadlineTransport(), (ResponseError,))
        # A proxy that the environment names does not lead to this machine itself.
        self.client_options = {"transport": self.transport, "trust_env": not is_loopback(provider.address)}

    def status_of(self, error: Exception) -> int | None:
        # -1 is how Ollama's client itself reports an error line inside a stream.
        return int(error.status_code) if isinstance(error, self.errors) else None  # type: ignore[attr-defined]


class OllamaModel(LangchainModel):
    """One model of an Ollama server."""

    answer_needs = "Structured answers need Ollama 0.5 or newer and a chat model."
    tool_needs = "Tools were offered to it; its template may not know them."

    def __init__(self, provider: Provider, model: str) -> None:
        # Deferred: takes most of a second.
        from langchain_ollama import ChatOllama

        server = OllamaServer(provider)
        super().__init__(model, server)
        self._langchain = ChatOllama(
            model=model,
            base_url=provider.address,
            temperature=0.0,
            # One constant per model: Ollama loads a model anew whenever it changes.
            num_ctx=self.context_tokens,
            reasoning=False,
            sync_client_kwargs=server.client_options,
        )

    def stream_answer(self, question: Question[Any], messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        options = self._options(question) | {"temperature": question.temperature}
        return self._langchain.stream(messages, format=question.answer.model_json_schema(), options=options)

    def stream_reply(self, exchange: Exchange, messages: list[BaseMessage]) -> Iterator[AIMessageChunk]:
        bound = self._langchain.bind_tools(exchange.tools)
        # A chat model's stream yields chunks, though its type speaks of whole messages.
        return bound.stream(messages, options=self._options(exchange))  # type: ignore[return-value]

    def ending_of(self, chunk: AIMessageChunk) -> Ending:
        about: dict[str, Any] = chunk.response_metadata
        if about.get("done") is not True:
            return Ending()
        return Ending(
            ended=True,
            truncated=about.get("done_reason") == "length",
            prompt_tokens=about.get("prompt_eval_count"),
            completion_tokens=about.get("eval_count"),
            seconds=_seconds_of(about),
        )

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        """Return everything Ollama would otherwise assume."""
        return {"num_ctx": self.context_tokens, "num_predict": request.max_completion_tokens, "temperature": 0.0}


def _seconds_of(about: dict[str, Any]) -> CallSeconds | None:
    """Read where the time went. What is neither reading nor writing went by in the queue, and in loading the model."""
    durations = [about.get(f"{name}_duration") for name in ("total", "prompt_eval", "eval")]
    if not all(isinstance(one, int) for one in durations):
        return None
    whole, reading, writing = (one / 1e9 for one in durations if one is not None)
    return CallSeconds(max(0.0, whole - reading - writing), reading, writing)
