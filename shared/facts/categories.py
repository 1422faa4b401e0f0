"""What kinds of facts there are, and what each kind is worth and for how long. Source: seed 000; decisions."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum


class Category(StrEnum):
    """What a fact is about, the most pressing first."""

    PROJECT = "project"
    """Work in hand, plans and goals."""
    PREFERENCE = "preference"
    """What the user likes, uses or wants done in a certain way."""
    IDENTITY = "identity"
    """Who the user is: name, place, family, health, profession."""


WEIGHTS = {Category.PROJECT: 0.8, Category.PREFERENCE: 0.3, Category.IDENTITY: 0.5}
"""How fast a kind of fact gives way as it grows old."""
LIFETIMES = {
    Category.PROJECT: timedelta(days=60),
    Category.PREFERENCE: timedelta(days=180),
    Category.IDENTITY: timedelta(days=365),
}
"""A fact that was not heard of for longer than this expires, unless it is pinned."""
