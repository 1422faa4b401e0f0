"""Where Ollama is looked for, and when a proxy stays out of the way."""

from __future__ import annotations

import pytest

from shared.base.settings import Settings
from shared.llm.transport import is_loopback


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://localhost", True),
        ("http://ollama.localhost:1", True),
        ("http://[::1]:11434", True),
        ("http://0.0.0.0:11434", True),
        ("http://ollama:11434", False),
        ("https://10.0.0.5", False),
        ("http://localhost.example.com", False),
        ("", False),
    ],
)
def test_only_this_machines_own_addresses_are_loopback(address: str, own: bool) -> None:
    assert is_loopback(address) is own


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("box", "http://box:11434"),
        ("box:1234", "http://box:1234"),
        ("http://box", "http://box"),
        ("https://box/ollama", "https://box/ollama"),
    ],
)
def test_an_address_without_scheme_means_ollamas_own_port(given: str, read: str) -> None:
    assert Settings(_env_file=None, ollama_host=given).ollama_host == read
