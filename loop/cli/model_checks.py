"""What the doctor looks at of models and their servers, and what it proposes where one does not fit its use here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from shared.base.installation import how_to_add
from shared.base.setting_groups import LEAST_CONTEXT_TOKENS
from shared.base.settings import Settings
from shared.llm.minilm import is_installed
from shared.llm.provider import ModelTraits, ServerStatus
from shared.llm.providers import NGRAMS, model_traits, server_status, split_model
from shared.llm.transport import is_private


class Health(StrEnum):
    """How something is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """What was found, and what to do about it."""

    what: str
    health: Health
    found: str
    mend: str | None = None


def ok(what: str, found: str) -> Finding:
    return Finding(what, Health.OK, found)


def warn(what: str, found: str, remedy: str) -> Finding:
    """Return that it works but should be looked at."""
    return Finding(what, Health.WARN, found, remedy)


def fail(what: str, found: str, remedy: str) -> Finding:
    return Finding(what, Health.FAIL, found, remedy)


_TIMEOUT_SECONDS = 3.0


def check_models(settings: Settings) -> list[Finding]:
    """Look whether its server has the model that is set; without one, the extractive agent writes the memories."""
    if settings.model is None:
        return [ok("model", "none set, so the built-in extractive agent writes the memories")]
    status = server_status(settings.model, settings, _TIMEOUT_SECONDS)
    if status.remedy is not None:
        return [fail("model", f"{status.model} cannot be asked", status.remedy)]
    traits = model_traits(settings.model, settings, _TIMEOUT_SECONDS)
    size = "" if traits.parameters is None else f", {_size(traits.parameters)} parameters"
    found = ok("model", f"{status.model} at {status.host}, {status.found}{size}")
    named = _misnamed("model", "AFTERTHOUGHT_MODEL", settings.model, status)
    return [found, *named, *_unfit(settings, settings.model, traits)]


def _misnamed(subject: str, variable: str, setting: str, status: ServerStatus) -> Iterator[Finding]:
    """Say where another model answers to the name that is set."""
    if status.stand_in is not None:
        found = f"{status.host} lists {status.stand_in} and not {status.model}; it answers any name"
        yield warn(subject, found, f"Set {variable}={split_model(setting)[0]}:{status.stand_in}.")


def _size(parameters: int) -> str:
    billions = parameters / 1e9
    return f"{billions:.3g} B" if billions >= 1 else f"{parameters / 1e6:.3g} M"


def _unfit(settings: Settings, model: str, traits: ModelTraits) -> Iterator[Finding]:
    """Say what of a model or its server does not fit how it is used here."""
    provider, name = split_model(model)
    window, configured = traits.context_tokens, settings.model_context_tokens
    if traits.ollama_address is not None:
        found = f"its server is Ollama, which cuts what is longer than {window} tokens there without a word"
        yield warn("model", found, f"Set AFTERTHOUGHT_MODEL=ollama:{name} and OLLAMA_HOST={traits.ollama_address}.")
    elif window is not None and window < configured:
        found = f"its window has {window:,} tokens, fewer than AFTERTHOUGHT_MODEL_CONTEXT_TOKENS={configured}"
        larger = "start its server with a larger window, or name another model"
        lower = f"Set AFTERTHOUGHT_MODEL_CONTEXT_TOKENS={window}, {larger}."
        yield warn("model", found, lower if window >= LEAST_CONTEXT_TOKENS else f"{larger.capitalize()}.")
    workers, parallel = settings.worker_concurrency, traits.parallel
    if parallel is not None and parallel < workers:
        found = f"a worker has {workers} processes and the server does {parallel} at once, so calls wait inside it"
        of_ollama = f"Set OLLAMA_NUM_PARALLEL={workers} for Ollama and here"
        more = of_ollama if traits.is_behind_ollama else f"Start the server with --parallel {workers}"
        yield warn("model", found, f"{more}, or set AFTERTHOUGHT_WORKER_CONCURRENCY={parallel}.")
    is_at_hand = provider == "openai" and is_private(settings.openai_base_url)
    if is_at_hand and traits.parameters is None and settings.model_size is None:
        found = "its size is unknown, so it is asked as a large one"
        yield warn("model", found, "Set AFTERTHOUGHT_MODEL_SIZE=small where it has less than 4 billion parameters.")
    # False and not None, as of many servers nothing is known.
    if traits.is_instruct is False:
        found = "it is a base model: it goes on with a text and follows no instructions"
        yield warn("model", found, f"Name its kind for instructions, mostly {provider}:{_instruct(name)}.")
    elif traits.has_tools is False and settings.thinking:
        yield ok("model", "it has no tools, so it thinks without them, by one form at a time")


def _instruct(name: str) -> str:
    """Return what the instruct kind of a base model is mostly called."""
    model, _, tag = re.sub(r"[-:](base|text|pt|latest)$", "", name).partition(":")
    return f"{model}:{tag}-instruct" if tag else f"{model}:instruct"


def check_embedding(settings: Settings) -> list[Finding]:
    """Look by what facts and messages are compared; never a failure, as both are kept without it."""
    if settings.embedding == NGRAMS:
        return [ok("embedding", "none wanted, so facts and messages are compared by their letters")]
    if settings.embedding is not None:
        status = server_status(settings.embedding, settings, _TIMEOUT_SECONDS)
        if status.remedy is not None:
            without = "so facts may stand twice and old messages are found by words alone"
            return [warn("embedding", f"{status.model} cannot be asked, {without}", status.remedy)]
        well = ok("embedding", f"{status.model} at {status.host} compares facts and messages by meaning")
        return [well, *_misnamed("embedding", "AFTERTHOUGHT_EMBEDDING", settings.embedding, status)]
    if is_installed():
        return [ok("embedding", "the built-in model compares facts and messages by meaning, in onnxruntime")]
    found = "the built-in model is not installed, so facts and messages are compared by their letters"
    return [
        warn("embedding", found, f"Name one of Ollama's models, or install the built-in one. {how_to_add('embedding')}")
    ]
