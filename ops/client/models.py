"""The models of the client, written by datamodel-code-generator from the shapes of ``/openapi.json``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

_REFERENCE = "#/components/schemas/"
# Bounds and patterns stay with the service: a client that knew them would refuse what a newer service takes.
_SHAPE = frozenset(
    ("type", "properties", "required", "items", "anyOf", "oneOf", "$ref", "enum", "const", "default", "format")
) | {"prefixItems", "description"}  # fmt: skip
_OPTIONS = (
    "--input-file-type=openapi",
    "--output-model-type=pydantic_v2.BaseModel",
    "--target-python-version=3.10",
    "--base-class=afterthought_client.base.Model",
    "--snake-case-field",
    "--enum-field-as-literal=all",
    "--use-annotated",
    "--strict-nullable",
    "--use-standard-collections",
    "--use-union-operator",
    "--use-schema-description",
    "--use-field-description",
    "--use-double-quotes",
    "--disable-timestamp",
    "--formatters=builtin",
)


def models_module(description: dict[str, Any]) -> str:
    """Return the module of models."""
    shapes = description["components"]["schemas"]
    bare = {name: _bare(shape, shapes) for name, shape in shapes.items() if "enum" not in shape}
    # The generator reads components of an OpenAPI document; its paths are no matter here.
    document = {"openapi": "3.1.0", "info": {"title": "models", "version": "1"}, "paths": {}}
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "shapes.json"), Path(folder, "models.py")
        given.write_text(json.dumps(document | {"components": {"schemas": bare}}), "utf-8")
        command = [sys.executable, "-m", "datamodel_code_generator", "--input", given, "--output", made, *_OPTIONS]
        subprocess.run(command, check=True)
        text = made.read_text("utf-8")
    return text[text.index("from __future__") :]


def _bare(shape: Any, shapes: dict[str, Any]) -> Any:
    """Return a shape without what is not its form, and with closed sets of words written where they are used."""
    if not isinstance(shape, dict):
        return shape
    named = shapes.get(str(shape.get("$ref", "")).removeprefix(_REFERENCE), {})
    if "enum" in named:
        shape = {"type": named["type"], "enum": named["enum"]} | {k: v for k, v in shape.items() if k != "$ref"}
    if shape.get("additionalProperties") is True:
        # A model would lose the keys it does not name: a message goes to a model's provider as it came.
        shape = {key: value for key, value in shape.items() if key not in ("properties", "required")}
    bare = {key: value for key, value in shape.items() if key in _SHAPE}
    for key in ("anyOf", "oneOf", "prefixItems"):
        if key in bare:
            bare[key] = [_bare(one, shapes) for one in bare[key]]
    if "prefixItems" in bare:
        # A tuple would be a model of its own.
        bare["items"] = {"anyOf": list({json.dumps(one): one for one in bare.pop("prefixItems")}.values())}
    if "items" in bare:
        bare["items"] = _bare(bare["items"], shapes)
    if "properties" in bare:
        bare["properties"] = {name: _bare(one, shapes) for name, one in bare["properties"].items()}
        # What is a shape by itself and stands anyway is always answered; its default would be written as a dictionary.
        always = [name for name, one in bare["properties"].items() if "$ref" in one and one.pop("default", None)]
        bare["required"] = [*bare.get("required", ()), *always]
    elif isinstance(shape.get("additionalProperties"), dict):
        bare["additionalProperties"] = _bare(shape["additionalProperties"], shapes)
    return bare
