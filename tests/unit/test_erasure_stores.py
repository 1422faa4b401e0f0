"""No table that holds text can be forgotten by an erasure: each is claimed by a store, or named with a reason."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa

from shared.db.base import models_metadata
from shared.erasure.stores import HOLDS_NO_WORDS, STORES

HOLDS_TEXT = (sa.String, sa.JSON, sa.LargeBinary)


def unclaimed(metadata: sa.MetaData) -> set[str]:
    """Return the tables with a column that could hold words, or be reckoned from words, which nobody answers for."""
    claimed = {table for store in STORES for table in store.tables} | HOLDS_NO_WORDS.keys()
    holding = {
        table.name for table in metadata.sorted_tables if any(isinstance(c.type, HOLDS_TEXT) for c in table.columns)
    }
    return holding - claimed


def test_every_table_with_text_is_a_stores_or_said_to_hold_no_words() -> None:
    assert unclaimed(models_metadata()) == set()


@pytest.mark.parametrize("kind", [sa.Text, sa.String(20), sa.JSON, sa.LargeBinary], ids=str)
def test_a_new_table_with_text_is_noticed(kind: sa.types.TypeEngine[object]) -> None:
    metadata = sa.MetaData()
    sa.Table("diaries", metadata, sa.Column("key", sa.Integer, primary_key=True), sa.Column("said", kind))
    sa.Table("figures", metadata, sa.Column("key", sa.Integer, primary_key=True), sa.Column("at", sa.DateTime))
    assert unclaimed(metadata) == {"diaries"}


def test_a_table_is_claimed_once_and_exists() -> None:
    claims = Counter([*(table for store in STORES for table in store.tables), *HOLDS_NO_WORDS])
    assert max(claims.values()) == 1
    assert claims.keys() - models_metadata().tables.keys() == set()
