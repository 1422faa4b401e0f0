"""What servers tell of a model, as each of them says it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from starlette.responses import Response

from shared.llm.provider import ModelTraits, parameters_in
from shared.llm.providers import ModelSize, model_traits, server_status
from tests.support.command_line import served
from tests.support.ollama_server import OllamaServer
from tests.support.openai_server import OpenAiServer
from tests.support.settings import served_at

SIZES: dict[str, int | None] = {
    "qwen2.5-coder-1.5b": 1_500_000_000, "llama3.2:3b": 3_000_000_000, "smollm2:135m": 135_000_000,
    "smollm2-360M-instruct-q4_1": 360_000_000, "mixtral:8x7b": 56_000_000_000, "kimi-k2:1t": 1_000_000_000_000,
    "/models/Qwen3-30B-A3B-Q4_K_M.gguf": 30_000_000_000, "gemma3n:e4b": 4_000_000_000, "1.5B": 1_500_000_000,
    "qwen2.5:14b-instruct-1m": 14_000_000_000, "gpt-4o-mini": None, "claude-haiku-4-5": None, "phi-4-4bit": None,
    "llama3.2": None, f"{'9' * 400}b": None,
}  # fmt: skip


def test_the_size_of_a_model_is_read_from_its_name() -> None:
    assert {name: parameters_in(name) for name in SIZES} == SIZES


SHOWN = {
    "details": {"family": "llama", "parameter_size": "135M"},
    "model_info": {
        "general.architecture": "llama",
        "general.parameter_count": 134_515_008,
        "llama.context_length": 8192,
    },
    "capabilities": ["completion", "tools"],
    "template": "{{ if .System }}<|im_start|>system\n{{ .System }}{{ end }}{{ .Prompt }}",
}
TOLD = ModelTraits(134_515_008, 8192, has_tools=True, parallel=1, is_behind_ollama=True)


BARE = {"capabilities": ["completion"], "template": "{{ .Prompt }}"}
OF_OLLAMA: dict[str, tuple[dict[str, Any], ModelTraits]] = {
    "instruct": (SHOWN, TOLD),
    "old": (SHOWN | {"model_info": {}}, replace(TOLD, parameters=135_000_000, context_tokens=None)),
    "base": (SHOWN | BARE, replace(TOLD, has_tools=False, is_instruct=False)),
    "rendered": (SHOWN | BARE | {"renderer": "deepseek3.1"}, replace(TOLD, has_tools=False)),
    "little": ({"details": None, "capabilities": None}, ModelTraits(parallel=1, is_behind_ollama=True)),
}


@pytest.mark.parametrize(("shown", "traits"), OF_OLLAMA.values(), ids=OF_OLLAMA)
def test_ollama_tells_of_a_model_and_loads_none(shown: dict[str, Any], traits: ModelTraits) -> None:
    with OllamaServer(shown=shown) as server:
        assert model_traits("ollama:tiny", served_at(server.url)) == traits
        assert [path for path, _ in server.script.requests] == ["/api/show"]


def test_a_server_of_openais_protocol_that_is_ollama_cuts_at_its_own_window() -> None:
    with OllamaServer(shown=SHOWN) as server:
        settings = served_at(server.url)
        assert model_traits("openai:tiny", settings) == replace(TOLD, context_tokens=4096, ollama_address=server.url)
    with OllamaServer(
        shown=SHOWN | {"parameters": 'num_ctx                        6000\nstop  "<|im_end|>"'}
    ) as server:
        assert model_traits("openai:tiny", served_at(server.url)).context_tokens == 6000


META = {"meta": {"n_params": 1_543_714_304, "n_ctx_train": 32_768}}
PROPS = {"total_slots": 2, "default_generation_settings": {"n_ctx": 4096}}
OF_OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any], ModelTraits]] = {
    "llama.cpp": (META, PROPS, ModelTraits(1_543_714_304, 4096, parallel=2)),
    "llama.cpp without props": (META, {}, ModelTraits(1_543_714_304, 32_768)),
    "vLLM": ({"max_model_len": 16_384}, {}, ModelTraits(context_tokens=16_384)),
    "hosted": ({}, {}, ModelTraits()),
}


@pytest.mark.parametrize(("listed", "props", "traits"), OF_OTHERS.values(), ids=OF_OTHERS)
def test_servers_of_openais_protocol_tell_what_they_can(
    listed: dict[str, Any], props: dict[str, Any], traits: ModelTraits
) -> None:
    with OpenAiServer(shown=listed, props=props) as server:
        assert model_traits("openai:tiny", served_at(server.url)) == traits


LLAMA = {"id": "engine", "owned_by": "llamacpp", "meta": {"n_params": 630_167_424, "n_ctx": 4096}}


@pytest.mark.parametrize(
    ("shown", "models", "is_answered"),
    [
        pytest.param(LLAMA, ("tiny:latest",), True, id="llama.cpp with one model"),
        pytest.param(LLAMA, ("tiny:latest", "more:latest"), False, id="several models"),
        pytest.param(LLAMA | {"owned_by": "vllm"}, ("tiny:latest",), False, id="another server"),
        pytest.param(LLAMA | {"meta": None}, ("tiny:latest",), False, id="llama.cpp that loads models by name"),
    ],
)
def test_the_one_model_of_llama_cpp_answers_to_any_name(
    shown: dict[str, Any], models: tuple[str, ...], is_answered: bool
) -> None:
    with OpenAiServer(shown=shown, models=models) as server:
        settings = served_at(server.url)
        status, traits = server_status("openai:qwen05", settings), model_traits("openai:qwen05", settings)
        assert (status.stand_in, status.is_listed, status.ready) == (
            ("engine", True, True) if is_answered else (None, False, False)
        )
        assert traits == (ModelTraits(630_167_424, 4096) if is_answered else ModelTraits())
        assert ModelSize("openai:qwen05", settings).is_small() == is_answered
        assert server_status("openai:engine", settings).stand_in is None


WRONG = pytest.mark.parametrize("wrong", [None, True, -1.5, "text", ["text", 3], {"key": {"key": 3}}], ids=repr)


@WRONG
@pytest.mark.parametrize("key", ["details", "model_info", "capabilities", "template", "modelfile", "renderer"])
def test_a_value_of_a_wrong_shape_is_one_that_ollama_did_not_tell(key: str, wrong: object) -> None:
    for told in ({key: wrong}, {"model_info": {"llama.context_length": wrong, "general.parameter_count": wrong}}):
        with OllamaServer(shown=SHOWN | told) as server:
            traits = model_traits("ollama:tiny", served_at(server.url))
            assert (traits.parallel, traits.is_behind_ollama) == (1, True)
            assert model_traits("openai:tiny", served_at(server.url)).is_behind_ollama


@WRONG
@pytest.mark.parametrize("key", ["meta", "n_params", "max_model_len", "props", "total_slots", "id"])
def test_a_value_of_a_wrong_shape_is_one_that_a_server_of_openais_protocol_did_not_tell(
    key: str, wrong: object
) -> None:
    meta = {"n_params": 3_000_000_000, "n_ctx_train": 4096} | {key: wrong}
    props = {"default_generation_settings": wrong if key == "props" else {"n_ctx": 2048}, "total_slots": 2}
    with OpenAiServer(shown={"meta": meta, key: wrong}, props=props | {key: wrong}) as server:
        traits = model_traits("openai:tiny", served_at(server.url))
        told = (traits.parameters, traits.context_tokens, traits.parallel)
        assert {type(value) for value in told} <= {int, type(None)}
        if key in ("max_model_len", "props", "total_slots"):
            assert traits.parameters == 3_000_000_000, "what else it tells stands"
        assert server_status("openai:tiny", served_at(server.url)).host == server.url + "/v1"


@pytest.mark.parametrize("setting", ["ollama:tiny-3b", "openai:tiny-3b"])
@pytest.mark.parametrize(
    "answer",
    ["null", "[]", '"text"', "3", '{"data": 3}', '{"data": {"id": 3}}', '{"data": [3]}', "[" * 9999, "<p>", "\xff"],
)
def test_an_answer_of_a_wrong_shape_tells_nothing(setting: str, answer: str) -> None:
    with served(Response(answer.encode("latin-1"), media_type="application/json")) as url:
        settings = served_at(url)
        assert model_traits(setting, settings).context_tokens is None
        assert server_status(setting, settings).model == "tiny-3b"
        assert ModelSize(setting, settings).is_small(), "by its name"


@pytest.mark.parametrize("setting", ["ollama:tiny-3b", "openai:tiny-3b"])
def test_where_nobody_answers_nothing_is_told(setting: str) -> None:
    with OllamaServer() as gone:
        settings = served_at(gone.url)
    assert model_traits(setting, settings) == ModelTraits()


def test_a_hosted_model_is_known_by_its_provider_alone() -> None:
    assert model_traits("anthropic:claude-haiku-4-5", served_at("http://127.0.0.1:1")) == ModelTraits(has_tools=True)


def test_with_a_key_that_no_header_can_hold_nothing_is_told() -> None:
    settings = served_at("http://127.0.0.1:1", openai_api_key=SecretStr("a\nkey-é"))
    assert model_traits("openai:tiny-3b", settings) == ModelTraits()
