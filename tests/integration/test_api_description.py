"""What ``/openapi.json`` says is fit for generators of clients: names, tags, texts and examples."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter

from loop.api.app import describe
from tests.support.api import Api
from tests.support.settings import default_settings

_VERB_FIRST = re.compile(
    "(add|age|approve|backfill|cancel|change|clear|compare|compose|debug|delete|edit|end|erase|export|extract|follow"
    "|import|install|issue|judge|learn|list|make|open|pin|poll|preview|prune|purge|read|rebuild|register|reject|remove"
    "|replay|restore|revoke|run|scan|search|show|snooze|start|suggest|summarise|sync|try|tune|undo|uninstall|unpin"
    "|unregister|use|weigh|write)([A-Z][a-z]+)+"
)


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    return describe(default_settings())


def test_the_description_is_served(sqlite_api: Api, described: dict[str, Any]) -> None:
    assert sqlite_api.client.get("/openapi.json").json()["paths"].keys() == described["paths"].keys()


def test_the_page_that_shows_it_loads_everything_from_the_service(sqlite_api: Api) -> None:
    page = sqlite_api.client.get("/docs")
    loaded = [address or url for address, url in re.findall(r"""(?:src|href)="([^"]+)"|url: '([^']+)'""", page.text)]
    assert "/openapi.json" in loaded and len(loaded) == 4
    for address in loaded:
        assert address.startswith("/")
        assert sqlite_api.client.get(address).status_code == 200


def _operations(described: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in described["paths"].values():
        yield from item.values()


def test_every_operation_is_named_by_a_verb_and_what_it_is_done_to(described: dict[str, Any]) -> None:
    names = [one["operationId"] for one in _operations(described)]
    assert [name for name, times in Counter(names).items() if times > 1] == []
    assert [name for name in names if not _VERB_FIRST.fullmatch(name)] == []


def test_every_operation_has_a_tag_that_is_explained(described: dict[str, Any]) -> None:
    explained = {tag["name"] for tag in described["tags"] if tag["description"]}
    used = {tag for one in _operations(described) for tag in one["tags"]}
    assert used == explained
    assert [one["operationId"] for one in _operations(described) if not (one["summary"] and one["description"])] == []


def test_the_description_says_where_the_service_is(described: dict[str, Any]) -> None:
    assert [server["url"] for server in described["servers"]] == ["/"]


def test_every_body_and_answer_has_a_shape(described: dict[str, Any]) -> None:
    bare = [
        (one["operationId"], kind)
        for one in _operations(described)
        for part in (one.get("requestBody", {}), *one["responses"].values())
        for kind, content in part.get("content", {}).items()
        if not content.get("schema")
    ]
    assert bare == []


def test_names_of_shapes_are_plain(described: dict[str, Any]) -> None:
    names = list(described["components"]["schemas"])
    assert [name for name in names if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", name)] == []
    # Where two classes have one name FastAPI puts the path of the module before each.
    assert [name for name, times in Counter(name.split("__")[-1].lower() for name in names).items() if times > 1] == []


def test_every_shape_is_described_and_has_an_example(described: dict[str, Any]) -> None:
    shapes = described["components"]["schemas"]
    assert [name for name, shape in shapes.items() if not (shape.get("description") and shape.get("examples"))] == []


def test_the_service_takes_its_own_examples(described: dict[str, Any]) -> None:
    by_name: dict[str, Any] = {one.__name__: one for one in _models(BaseModel)}
    wrong = {}
    for name, shape in described["components"]["schemas"].items():
        if name not in by_name:
            assert shape.get("enum"), name
            continue
        for example in shape["examples"]:
            try:
                TypeAdapter(by_name[name]).validate_json(json.dumps(example))
            except ValueError as error:
                wrong[name] = (example, str(error))
    assert wrong == {}


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for one in base.__subclasses__():
        if one.__module__.startswith(("loop.", "shared.")):
            yield one
        yield from _models(one)
