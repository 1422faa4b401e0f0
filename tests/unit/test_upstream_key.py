"""What an app may see of a model server's answer."""

from __future__ import annotations

import pytest

from loop.completions.upstream import Upstream


@pytest.mark.parametrize(
    ("key", "seen"),
    [("sk-of-the-service", b"Wrong: [key], fake"), ("k", b"Wrong: sk-of-the-service, fake"),
     (None, b"Wrong: sk-of-the-service, fake")],
)  # fmt: skip
def test_a_key_is_taken_out_where_it_is_long_enough_to_be_one(key: str | None, seen: bytes) -> None:
    assert Upstream("openai:m", "http://127.0.0.1:1/v1", key).without_key(b"Wrong: sk-of-the-service, fake") == seen
