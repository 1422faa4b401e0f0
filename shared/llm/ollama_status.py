"""Whether Ollama is there and has the model, and how to mend it when not.

For readiness and for ``afterthought doctor``; asks only what costs the server nothing and loads no model.
"""

from __future__ import annotations

from typing import Any

import httpx

from shared.addresses import without_credentials
from shared.llm.model_server import ServerStatus, open_client
from shared.model_names import same_model


def ollama_status(host: str, model: str, timeout_seconds: float) -> ServerStatus:
    """Ask Ollama at ``host`` for its version and whether it has ``model``, as Ollama names it. Does not raise."""
    address, host = host, without_credentials(host)
    try:
        with open_client(address, timeout_seconds) as client:
            version = _get(client, "/api/version").get("version")
            models = _get(client, "/api/tags").get("models")
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return ServerStatus(model, host, mend=_how_to_reach(host, error))
    except (ValueError, RecursionError):
        return ServerStatus(model, host, mend=f"{host} answers, but is not Ollama: correct OLLAMA_HOST.")
    entries = models if isinstance(models, list) else []
    names = [str(one.get("model") or one.get("name")) for one in entries if isinstance(one, dict)]
    has_it = any(same_model(name, model) for name in names)
    mend = None if has_it else f"Ollama at {host} has no model {model}. Run: ollama pull {model}"
    return ServerStatus(model, host, f"Ollama {version}", mend, is_listed=has_it)


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
