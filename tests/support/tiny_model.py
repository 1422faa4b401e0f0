"""A language model in a file of half a megabyte that a real engine runs: random weights, so all it says is nonsense.

Its vocabulary is what can be typed, byte for byte, and it leans to what ends an answer: a random model would never
close a string. Where tools are offered it begins with a call of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import xllamacpp
from gguf import GGUFWriter, TokenType

CONTEXT_TOKENS = 32768
"""Much, as every character is a token."""
WIDTH = 64
_LAYERS, _HEADS, _HIDDEN = 2, 4, 128
_SEED = 7
_ANSWERS, _USES_TOOLS = "<|assistant|>", "<|uses|>"
_CHARACTERS = [chr(code) for code in range(33, 127)]
_VOCABULARY = {
    "<unk>": TokenType.UNKNOWN,
    "<s>": TokenType.CONTROL,
    "</s>": TokenType.CONTROL,
    **{f"<0x{byte:02X}>": TokenType.BYTE for byte in range(256)},
    "▁": TokenType.NORMAL,
    **dict.fromkeys(_CHARACTERS, TokenType.NORMAL),
    **dict.fromkeys((_ANSWERS, _USES_TOOLS), TokenType.CONTROL),
    **dict.fromkeys(("<tool_call>", "</tool_call>"), TokenType.USER_DEFINED),
}
_NEVER = -9.0
_LEANINGS = {"</s>": 2.0, '"': 2.0, "}": 1.0, "]": 1.0, "</tool_call>": 0.0, ",": -3.0, "<": _NEVER}
_FOLLOWS = {
    _USES_TOOLS: {"<tool_call>": 9.0},
    "</tool_call>": {"</s>": 9.0},
    _ANSWERS: {"</s>": _NEVER},
    '"': {'"': _NEVER} | dict.fromkeys(ascii_lowercase, 2.0),
}
"""What comes next, or does not, after a certain token."""
_KEPT = 1 + len(_FOLLOWS)
_CHAT_TEMPLATE = """
{%- if tools %}<|system|>You may call these functions:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
{% endif %}
{%- for message in messages %}<|{{ message.role }}|>{{ message.content or "" }}
{%- for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor %}
{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% if tools %}<|uses|>{% endif %}{% endif %}
""".strip()


def write_model(path: Path) -> None:
    random = np.random.default_rng(_SEED)
    writer = GGUFWriter(path, "llama")
    _write_shape(writer)
    _write_vocabulary(writer)
    for name, weights in _tensors(random):
        writer.add_tensor(name, weights)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@contextmanager
def serve_model(model: Path, **chosen: Any) -> Iterator[str]:
    """Serve a model until the block ends; yields the address for OpenAI's clients."""
    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = str(model), {"tiny"}
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel, params.kv_unified = CONTEXT_TOKENS, 2, True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.verbosity = 0
    for name, value in chosen.items():
        setattr(params, name, value)
    # It serves as long as it is referred to.
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


def _write_shape(writer: GGUFWriter) -> None:
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(_LAYERS)
    writer.add_feed_forward_length(_HIDDEN)
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS)
    writer.add_rope_dimension_count(WIDTH // _HEADS)
    writer.add_layer_norm_rms_eps(1e-5)


def _write_vocabulary(writer: GGUFWriter) -> None:
    writer.add_tokenizer_model("llama")
    writer.add_token_list(list(_VOCABULARY))
    writer.add_token_scores([0.0] * len(_VOCABULARY))
    writer.add_token_types(list(_VOCABULARY.values()))
    for place, name in enumerate(("unk", "bos", "eos")):
        getattr(writer, f"add_{name}_token_id")(place)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(_CHAT_TEMPLATE)


def _tensors(random: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    def weights(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    places = {token: place for place, token in enumerate(_VOCABULARY)}
    embedded, answered = weights(len(places), WIDTH) * 8, weights(len(places), WIDTH)
    # No layer changes the first dimensions. The very first is the same for every token, so what it weighs in the end
    # is how much a token is leaned to whatever came before; each of the others is of one token and what follows it.
    embedded[:, :_KEPT], answered[:, 1:_KEPT] = 0.0, 0.0
    embedded[:, 0] = 2.0
    answered[:, 0] = [_leaning(token, kind) for token, kind in _VOCABULARY.items()]
    for dimension, (before, following) in enumerate(_FOLLOWS.items(), 1):
        embedded[places[before], dimension] = 10.0
        answered[[places[after] for after in following], dimension] = list(following.values())
    yield "token_embd.weight", embedded
    yield "output.weight", answered
    yield "output_norm.weight", np.ones(WIDTH, np.float32)
    for layer in range(_LAYERS):
        yield from ((f"blk.{layer}.{name}_norm.weight", np.ones(WIDTH, np.float32)) for name in ("attn", "ffn"))
        for name in ("attn_q", "attn_k", "attn_v", "ffn_gate", "ffn_up"):
            yield f"blk.{layer}.{name}.weight", weights(_HIDDEN if name.startswith("ffn") else WIDTH, WIDTH)
        for name in ("attn_output", "ffn_down"):
            changes = weights(WIDTH, _HIDDEN if name.startswith("ffn") else WIDTH)
            changes[:_KEPT] = 0.0
            yield f"blk.{layer}.{name}.weight", changes


def _leaning(token: str, kind: TokenType) -> float:
    return _LEANINGS.get(token, 0.0 if kind is TokenType.NORMAL else _NEVER)
