"""What a provider of models declares of itself, one file a provider: ``shared/llm/NAME.py``, with its ``PROVIDER``.

A provider there reads what its server tells and makes its chats and embedders; it is known by its name to
``shared.base.setting_groups``, where its address is a setting. What all chats and embedders do alike is left to
``langchain_model`` and ``embedding``. Importing a provider is cheap: its libraries are imported where it makes
something.
"""

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar

import httpx
from pydantic import BaseModel, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from shared.base.errors import Configuration
from shared.base.settings import environment_names
from shared.llm.embedding import Embedder
from shared.llm.langchain_model import LangchainModel
from shared.llm.model_server import Endpoint
from shared.llm.transport import open_client

_MOST_NAMED = 5


@dataclass(frozen=True)
class ServerStatus:
    """What was found at an address."""

    model: str
    host: str
    found: str | None = None
    """What answers there; None where nobody does, or another."""
    remedy: str | None = None
    """One sentence with what to do; None when all is well."""
    is_listed: bool = False
    """Whether the server's list says that it answers; some give none, or not of all that they can be asked."""
    stand_in: str | None = None
    """The one model it lists, by another name, which answers to any name."""

    @property
    def ready(self) -> bool:
        return self.remedy is None


@dataclass(frozen=True)
class ModelTraits:
    """What could be found out about a model; None is what nobody told."""

    parameters: int | None = None
    context_tokens: int | None = None
    """The window that the server gives it."""
    has_tools: bool | None = None
    is_instruct: bool | None = None
    """False: a base model, which goes on with a text and follows no instruction."""
    parallel: int | None = None
    """Calls that the server does at once; more wait inside it."""
    is_behind_ollama: bool = False
    """Whether the server is Ollama, whatever protocol it is spoken to in."""
    ollama_address: str | None = None
    """Where it is Ollama and spoken to in another protocol, which cuts what is longer than the window: Ollama's own."""


class Provider(Endpoint):
    """A provider of models, where the settings say that it is."""

    @abstractmethod
    def status(self, model: str, timeout_seconds: float) -> ServerStatus:
        """Look whether its server is there and has ``model``, at no cost. Does not raise for what is found there."""

    @abstractmethod
    def traits(self, model: str, timeout_seconds: float) -> ModelTraits:
        """Ask its server about a model, at no cost, and load none. Raises: httpx.HTTPError, OSError, ValueError."""

    def make_model(self, model: str) -> LangchainModel:
        """Make what chats with ``model``. Raises: ModuleNotFoundError, Configuration where it has none."""
        raise Configuration(f"{self.product} has no chat models: correct the setting that names one.")

    def make_embedder(self, model: str, seconds: float) -> Embedder:
        """Make the embedder that asks ``model``. Raises: ModuleNotFoundError, Configuration where it has none."""
        raise Configuration(f"{self.product} has no embedding models: correct AFTERTHOUGHT_EMBEDDING.")


class ApiProvider(Provider):
    """One whose server lists its models as OpenAI's and Anthropic's do, and may want a key."""

    key_setting: ClassVar[str]
    models_path: ClassVar[str]
    address_form: ClassVar[str]
    """What is mostly wrong with an address at which a model is not found."""

    @property
    @abstractmethod
    def headers(self) -> Mapping[str, str]:
        """What lets a look at the server in. The key is in no message."""

    def status(self, model: str, timeout_seconds: float) -> ServerStatus:
        product, host, address_names = self.product, self.host, _names_of(self.address_setting)

        def bad(remedy: str) -> ServerStatus:
            return ServerStatus(model, host, remedy=remedy)

        try:
            with open_client(self.address, timeout_seconds, self.headers) as client:
                response = client.get(self.models_path)
                answer = response.json() if response.is_success else {}
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            why = type(error).__name__
            return bad(f"{product} cannot be reached at {host} ({why}). Start it or correct {address_names}.")
        except (ValueError, RecursionError):
            return bad(f"{host} answers, but is not {product}: correct {address_names}.")
        if response.status_code in (401, 403):
            key = _names_of(self.key_setting)
            return bad(f"{product} at {host} does not accept the key. Set {key} to one it accepts.")
        if response.status_code >= 500 or response.status_code == 429:
            return bad(f"{product} at {host} answers with status {response.status_code}; try again later.")
        names = {str(one["id"]) for one in _entries(answer)}
        has_it = any(is_same_model(name, model) for name in names)
        stand_in = None if has_it else answering_any_name(answer)
        if stand_in is not None:
            return ServerStatus(model, host, product, is_listed=True, stand_in=stand_in)
        # Not every server lists its models; what cannot be told is not held against it.
        if names and not has_it:
            some = ", ".join(sorted(names)[:_MOST_NAMED])
            return bad(f"{product} at {host} has no model {model}. Name one it has, for example: {some}.")
        return ServerStatus(model, host, product, is_listed=has_it)

    def refusal(self, model: str, status: int, needs: str) -> Configuration:
        if status in (401, 403):
            return Configuration(
                f"{self.product} at {self.host} does not accept the key (status {status}). Set "
                f"{_names_of(self.key_setting)} to one that may use {model}."
            )
        if status == 404:
            return Configuration(
                f"{self.product} at {self.host} has no model {model}. Name one it has, or correct "
                f"{_names_of(self.address_setting)}, which {self.address_form}."
            )
        return super().refusal(model, status, needs)


def _names_of(setting: str) -> str:
    return " or ".join(environment_names(setting))


def answering_any_name(answer: Any) -> str | None:
    """Return the name of the one model that llama.cpp serves, which answers whatever name is asked for.

    ``answer`` is a server's list of models. A llama.cpp that loads models by their names tells no ``meta`` of them.
    """
    entries = _entries(answer)
    is_any = len(entries) == 1 and entries[0].get("owned_by") == "llamacpp" and isinstance(entries[0].get("meta"), dict)
    return str(entries[0]["id"]) if is_any else None


def _entries(answer: Any) -> list[dict[str, Any]]:
    listed = answer.get("data") if isinstance(answer, dict) else None
    return [one for one in listed if isinstance(one, dict) and "id" in one] if isinstance(listed, list) else []


def is_same_model(one: str, other: str) -> bool:
    """Whether two names that a server knows mean one model: Ollama reads a missing tag as ``latest``."""
    return _with_tag(one) == _with_tag(other)


def _with_tag(name: str) -> str:
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


_SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d{1,4})x)?e?(\d{1,6}(?:\.\d{1,6})?)(t|b|(?<=\d\d)m)(?![a-z0-9])")
_UNITS = {"m": 1e6, "b": 1e9, "t": 1e12}


def parameters_in(name: str) -> int | None:
    """Read how many parameters a model has from its name, as ``llama3.2:3b`` and ``mixtral-8x7b`` say it."""
    found = _SIZE.search(name.lower())
    if found is None:
        return None
    experts, number, unit = found.groups()
    return round(int(experts or 1) * float(number) * _UNITS[unit])


_ValueT = TypeVar("_ValueT")
_ShapeT = TypeVar("_ShapeT", bound=BaseModel)


def _or_none(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    try:
        return validate(value)
    except ValidationError:
        return None


# Many programs answer in these protocols, and a value of a shape that none of them documents tells nothing: a job must
# not fail by it, nor the other values be lost.
Reported = Annotated[_ValueT | None, WrapValidator(_or_none)]
ReportedCount = Reported[Annotated[int, Field(strict=True, gt=0)]]


def read_reported(response: httpx.Response, shape: type[_ShapeT]) -> _ShapeT:
    """Return what a server answered; with nothing told where it would not, or answered something else."""
    try:
        return shape.model_validate_json(response.content if response.is_success else b"{}")
    except ValidationError:
        return shape()
