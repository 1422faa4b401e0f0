"""What a server tells of a model: how large it is, its window, whether it can use tools, how many calls run at once.

Asks only what costs the server nothing and loads no model, as ``ollama_status`` and ``api_status`` do.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx

from shared.llm.api_status import Api
from shared.llm.model_server import open_client
from shared.llm.providers import api_of
from shared.model_names import OPENAIS_OWN, provider_of, same_model
from shared.setting_groups import ModelSettings

OLLAMA_V1_TOKENS = 4096
"""The window that Ollama gives over OpenAI's protocol, which cannot name another; a longer prompt is cut silently."""
_BARE_TEMPLATE = re.compile(r"\{\{-?\s*\.Prompt\s*-?\}\}")
_SIZE = re.compile(r"(?<![a-z0-9.])(?:(\d+)x)?e?(\d+(?:\.\d+)?)(t|b|(?<=\d\d)m)(?![a-z0-9])")
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
    # ValueError: what answers speaks no JSON.
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
        if self._settings.model_size is not None:
            return self._settings.model_size == "small"
        if time.monotonic() >= self._ask_at:
            told = model_traits(self._model, self._settings).parameters
            self._parameters = told or self._parameters
            self._ask_at = math.inf if told else time.monotonic() + _AGAIN_SECONDS
        return self._parameters is not None and self._parameters < SMALL_BELOW


def parameters_in(name: str) -> int | None:
    """Read how many parameters a model has from its name, as ``llama3.2:3b`` and ``mixtral-8x7b`` say it."""
    found = _SIZE.search(name.lower())
    if found is None:
        return None
    experts, number, unit = found.groups()
    return round(int(experts or 1) * float(number) * _UNITS[unit])


def _shown(client: httpx.Client, name: str) -> Mapping[str, Any]:
    return _object(client.post("/api/show", json={"model": name}))


def _of_ollama(shown: Mapping[str, Any], name: str, settings: ModelSettings) -> ModelTraits:
    if not shown:
        return ModelTraits()
    about = _mapping(shown.get("model_info"))
    size = str(_mapping(shown.get("details")).get("parameter_size") or "")
    capabilities = shown.get("capabilities")
    can = capabilities if isinstance(capabilities, list) else None
    return ModelTraits(
        parameters=_count(about.get("general.parameter_count")) or parameters_in(size) or parameters_in(name),
        context_tokens=next((_count(value) for key, value in about.items() if key.endswith(".context_length")), None),
        has_tools=None if can is None else "tools" in can,
        is_instruct=False if _is_base(shown, can or []) else None,
        parallel=settings.ollama_num_parallel,
        is_behind_ollama=True,
    )


def _is_base(shown: Mapping[str, Any], capabilities: list[Any]) -> bool:
    """Whether Ollama hands a prompt on as it stands. A model with a renderer has a bare template too, and is none."""
    template, modelfile = str(shown.get("template") or ""), str(shown.get("modelfile") or "")
    is_rendered = bool(shown.get("renderer")) or "\nRENDERER " in modelfile
    return _BARE_TEMPLATE.fullmatch(template.strip()) is not None and not is_rendered and "tools" not in capabilities


def _of_api(api: Api, name: str, settings: ModelSettings, timeout_seconds: float) -> ModelTraits:
    with open_client(api.base_url, timeout_seconds, api.headers) as client:
        listed = _object(client.get(api.models_path)).get("data")
    if listed is None:
        return ModelTraits()
    entries = [_mapping(one) for one in listed] if isinstance(listed, list) else []
    entry = next((one for one in entries if same_model(str(one.get("id")), name)), {})
    meta, root = _mapping(entry.get("meta")), api.base_url.removesuffix("/v1")
    props = dict[str, Any]()
    if meta:
        # llama.cpp's own, outside the protocol; nobody else tells of ``meta``.
        with open_client(root, timeout_seconds, api.headers) as client:
            props = _object(client.get("/props"))
    elif "max_model_len" not in entry and urlsplit(api.base_url).hostname != OPENAIS_OWN:
        # Without the key: it is not Ollama's.
        with open_client(root, timeout_seconds) as client:
            if _is_ollama(client):
                return _of_ollamas_v1(_shown(client, name), name, settings)
    slot = _mapping(props.get("default_generation_settings"))
    windows = (meta.get("n_ctx"), slot.get("n_ctx"), entry.get("max_model_len"), meta.get("n_ctx_train"))
    return ModelTraits(
        parameters=_count(meta.get("n_params")) or parameters_in(name),
        context_tokens=next(filter(None, map(_count, windows)), None),
        parallel=_count(props.get("total_slots")),
    )


def _is_ollama(client: httpx.Client) -> bool:
    try:
        return "version" in _object(client.get("/api/version"))
    except ValueError:
        return False  # a page of another's


def _of_ollamas_v1(shown: Mapping[str, Any], name: str, settings: ModelSettings) -> ModelTraits:
    traits = _of_ollama(shown, name, settings)
    made_for = re.search(r"^num_ctx\s+(\d+)", str(shown.get("parameters") or ""), re.MULTILINE)
    window = OLLAMA_V1_TOKENS if made_for is None else int(made_for[1])
    return replace(traits, context_tokens=min(window, traits.context_tokens or window), is_behind_ollama=True)


def _object(response: httpx.Response) -> dict[str, Any]:
    """Return the object that a server answered; empty where it would not. Raises ``ValueError`` for what is no JSON."""
    answer = response.json() if response.is_success else {}
    return answer if isinstance(answer, dict) else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
