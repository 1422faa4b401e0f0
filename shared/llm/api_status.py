"""Whether a server of OpenAI's or Anthropic's protocol is there, takes the key and has the model, and how to mend it.

For readiness and for ``afterthought doctor``; asks for a list of models, which costs nothing. The key is in no message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from shared.addresses import without_credentials
from shared.llm.model_server import ServerStatus, open_client
from shared.model_names import same_model

_MOST_NAMED = 5


@dataclass(frozen=True)
class Api:
    """Where a provider's API is, and by which settings."""

    product: str
    base_url: str
    models_path: str
    headers: Mapping[str, str]
    key_setting: str
    address_setting: str


def api_status(api: Api, model: str, timeout_seconds: float) -> ServerStatus:
    """Ask an API for its models. Does not raise."""
    host = without_credentials(api.base_url)

    def bad(mend: str) -> ServerStatus:
        return ServerStatus(model, host, mend=mend)

    try:
        with open_client(api.base_url, timeout_seconds, api.headers) as client:
            response = client.get(api.models_path)
            answer = response.json() if response.is_success else {}
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        why = type(error).__name__
        return bad(f"{api.product} cannot be reached at {host} ({why}). Start it or correct {api.address_setting}.")
    except (ValueError, RecursionError):
        return bad(f"{host} answers, but is not {api.product}: correct {api.address_setting}.")
    if response.status_code in (401, 403):
        return bad(f"{api.product} at {host} does not accept the key. Set {api.key_setting} to one it accepts.")
    if response.status_code >= 500 or response.status_code == 429:
        return bad(f"{api.product} at {host} answers with status {response.status_code}; try again later.")
    names = _names(answer)
    has_it = any(same_model(name, model) for name in names)
    # Not every server lists its models; what cannot be told is not held against it.
    if names and not has_it:
        some = ", ".join(sorted(names)[:_MOST_NAMED])
        return bad(f"{api.product} at {host} has no model {model}. Name one it has, for example: {some}.")
    return ServerStatus(model, host, api.product, is_listed=has_it)


def _names(answer: Any) -> set[str]:
    listed = answer.get("data") if isinstance(answer, dict) else None
    entries = listed if isinstance(listed, list) else []
    return {str(one["id"]) for one in entries if isinstance(one, dict) and "id" in one}
