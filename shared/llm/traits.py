"""What a server tells of a model: how large it is, its window, whether it can use tools, how many calls run at once.

Asks only what costs the server nothing and loads no model, as ``ollama_status`` and ``api_status`` do.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from shared.llm.api_status import Api
from shared.llm.model_server import open_client
from shared.llm.providers import api_of
from shared.model_names import OPENAIS_OWN, provider_of, same_model
from shared.setting_groups import ModelSettings

OLLAMA_V1_TOKENS = 4096
"""The window that Ollama gives over OpenAI's protocol, which cannot name another; a longer prompt is cut silently."""
_BARE_TEMPLATE = re.compile(r"\{\{-?\s*\.Prompt\s*-?\}\}")
_SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d{1,4})x)?e?(\d{1,6}(?:\.\d{1,6})?)(t|b|(?<=\d\d)m)(?![a-z0-9])")
_UNITS = {"m": 1e6, "b": 1e9, "t": 1e12}


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


def model_traits(setting: str, settings: ModelSettings, timeout_seconds: float = 2.0) -> ModelTraits:
    """Ask the server of the model that ``setting`` names about it; empty where nobody answers. Does not raise."""
    provider = provider_of(setting)
    if provider is None:
        return ModelTraits()
    if provider == "anthropic":
        return ModelTraits(has_tools=True)
    name, api = setting.removeprefix(f"{provider}:"), api_of(provider, settings)
    try:
        if api is None:
            with open_client(settings.ollama_host, timeout_seconds) as client:
                return _of_ollama(_shown(client, name), name, settings)
        return _of_api(api, name, settings, timeout_seconds)
    # ValueError: a key that no header can hold.
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError):
        return ModelTraits()


_AGAIN_SECONDS = 300.0
SMALL_BELOW = 4_000_000_000
"""Parameters below which a model is not asked to choose. Measured up to 1.5 billion, where it chooses worse than the
classifier; what nobody told of is taken for a hosted model, which is large. Source: docs/guides/choose-a-model.md."""


class ModelSize:
    """Whether a model is small, as the setting says, else its server, else its name."""

    def __init__(self, model: str, settings: ModelSettings) -> None:
        self._model, self._settings = model, settings
        self._parameters = parameters_in(model)
        self._ask_at = 0.0

    def is_small(self) -> bool:
        """Ask until the server tells: it may come later than we. One that tells nothing is asked every few minutes."""
        if self._settings.model_size is None and time.monotonic() >= self._ask_at:
            told = model_traits(self._model, self._settings).parameters
            self._parameters = told or self._parameters
            self._ask_at = math.inf if told else time.monotonic() + _AGAIN_SECONDS
        return _is_small(self._parameters, self._settings)


def is_known_small(model: str, settings: ModelSettings) -> bool:
    """Whether a model is small by the setting or its name, without a word of its server."""
    return _is_small(parameters_in(model), settings)


def _is_small(parameters: int | None, settings: ModelSettings) -> bool:
    if settings.model_size is not None:
        return settings.model_size == "small"
    return parameters is not None and parameters < SMALL_BELOW


def parameters_in(name: str) -> int | None:
    """Read how many parameters a model has from its name, as ``llama3.2:3b`` and ``mixtral-8x7b`` say it."""
    found = _SIZE.search(name.lower())
    if found is None:
        return None
    experts, number, unit = found.groups()
    return round(int(experts or 1) * float(number) * _UNITS[unit])


_ValueT = TypeVar("_ValueT")
_AnswerT = TypeVar("_AnswerT", bound=BaseModel)


def _or_none(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    try:
        return validate(value)
    except ValidationError:
        return None


# Many programs answer in these protocols, and a value of a shape that none of them documents tells nothing: a job must
# not fail by it, nor the other values be lost.
_Told = Annotated[_ValueT | None, WrapValidator(_or_none)]
_Count = Annotated[int, Field(strict=True, gt=0)]


class _ShownDetails(BaseModel):
    parameter_size: _Told[str] = None


class _ShownModel(BaseModel):
    """Ollama's ``/api/show``."""

    model_info: _Told[dict[str, Any]] = None
    details: _Told[_ShownDetails] = None
    capabilities: _Told[list[str]] = None
    template: _Told[str] = None
    modelfile: _Told[str] = None
    parameters: _Told[str] = None
    renderer: _Told[str] = None


class _OllamaVersion(BaseModel):
    version: _Told[str] = None


class _ListedMeta(BaseModel):
    """What llama.cpp alone tells."""

    n_ctx: _Told[_Count] = None
    n_ctx_train: _Told[_Count] = None
    n_params: _Told[_Count] = None


class _ListedModel(BaseModel):
    id: _Told[str] = None
    max_model_len: _Told[_Count] = None
    meta: _Told[_ListedMeta] = None


class _ListedModels(BaseModel):
    """``/models`` of OpenAI's protocol."""

    data: _Told[list[_Told[_ListedModel]]] = None


class _LlamaSlot(BaseModel):
    n_ctx: _Told[_Count] = None


class _LlamaProps(BaseModel):
    """llama.cpp's ``/props``."""

    default_generation_settings: _Told[_LlamaSlot] = None
    total_slots: _Told[_Count] = None


def _read(response: httpx.Response, shape: type[_AnswerT]) -> _AnswerT:
    """Return what a server answered; with nothing told where it would not, or answered something else."""
    try:
        return shape.model_validate_json(response.content if response.is_success else b"{}")
    except ValidationError:
        return shape()


def _shown(client: httpx.Client, name: str) -> _ShownModel:
    return _read(client.post("/api/show", json={"model": name}), _ShownModel)


def _of_ollama(shown: _ShownModel, name: str, settings: ModelSettings) -> ModelTraits:
    if not shown.model_fields_set:
        return ModelTraits()
    about, size = shown.model_info or {}, shown.details and shown.details.parameter_size
    return ModelTraits(
        parameters=_count(about.get("general.parameter_count")) or parameters_in(size or "") or parameters_in(name),
        context_tokens=next((_count(value) for key, value in about.items() if key.endswith(".context_length")), None),
        has_tools=None if shown.capabilities is None else "tools" in shown.capabilities,
        is_instruct=False if _is_base(shown) else None,
        parallel=settings.ollama_num_parallel,
        is_behind_ollama=True,
    )


def _is_base(shown: _ShownModel) -> bool:
    """Whether Ollama hands a prompt on as it stands. A model with a renderer has a bare template too, and is none."""
    is_rendered = shown.renderer or "\nRENDERER " in (shown.modelfile or "")
    is_bare = _BARE_TEMPLATE.fullmatch((shown.template or "").strip()) is not None
    return is_bare and not is_rendered and "tools" not in (shown.capabilities or ())


def _of_api(api: Api, name: str, settings: ModelSettings, timeout_seconds: float) -> ModelTraits:
    with open_client(api.base_url, timeout_seconds, api.headers) as client:
        listed = _read(client.get(api.models_path), _ListedModels).data
    if listed is None:
        return ModelTraits()
    entry = next((one for one in listed if one and same_model(one.id or "", name)), _ListedModel())
    root, props = api.base_url.removesuffix("/v1"), _LlamaProps()
    if entry.meta is not None:
        # llama.cpp's own, outside the protocol; nobody else tells of ``meta``.
        with open_client(root, timeout_seconds, api.headers) as client:
            props = _read(client.get("/props"), _LlamaProps)
    elif entry.max_model_len is None and urlsplit(api.base_url).hostname != OPENAIS_OWN:
        # Without the key: it is not Ollama's.
        with open_client(root, timeout_seconds) as client:
            if _read(client.get("/api/version"), _OllamaVersion).version is not None:
                return _of_ollamas_v1(_shown(client, name), name, settings)
    meta, slot = entry.meta or _ListedMeta(), props.default_generation_settings or _LlamaSlot()
    return ModelTraits(
        parameters=meta.n_params or parameters_in(name),
        context_tokens=meta.n_ctx or slot.n_ctx or entry.max_model_len or meta.n_ctx_train,
        parallel=props.total_slots,
    )


def _of_ollamas_v1(shown: _ShownModel, name: str, settings: ModelSettings) -> ModelTraits:
    traits = _of_ollama(shown, name, settings)
    made_for = re.search(r"^num_ctx\s+(\d{1,9})\b", shown.parameters or "", re.MULTILINE)
    window = OLLAMA_V1_TOKENS if made_for is None else int(made_for[1])
    return replace(traits, context_tokens=min(window, traits.context_tokens or window), is_behind_ollama=True)


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None
