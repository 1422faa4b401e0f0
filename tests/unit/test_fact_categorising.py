"""What a statement written by hand is about, by its words."""

from __future__ import annotations

import pytest

from shared.facts.categories import Category, category_of

PROJECT = [
    "User is building a local-first chat app",
    "Has a deadline on Friday",
    "Plans to move to Berlin next year",
    "Is writing a thesis on soil bacteria",
    "My goal is to run a marathon",
    "Wants to launch the shop by June",
    "Needs to renew the passport",
    "Is renovating the kitchen",
    "Is preparing for a job interview",
    "Saving up for a cargo bike",
    "The release is due on 3 May",
    "Is migrating the billing system to PostgreSQL",
    "Bis Freitag muss der Antrag raus",
    "La fecha de entrega es el 9 de mayo",
]
PREFERENCE = [
    "Prefers direct answers without preamble",
    "User likes jazz",
    "I love hiking",
    "Hates small talk",
    "Always answer in Danish",
    "Favourite colour is green",
    "Never wants emojis",
    "Enjoys cooking for family",
    "Would rather meet in the afternoon",
    "Tabs, not spaces",
    "Can't stand loud restaurants",
    "User likes working on weekends",
    "Réponds toujours en français",
    "コーヒーより紅茶が好きです",
]
IDENTITY = [
    "User's name is Anna",
    "My name is Anna",
    "Lives in Copenhagen",
    "I live in New York",
    "User is 34 years old",
    "Has two children",
    "I am allergic to peanuts",
    "Is a software developer",
    "I'm a nurse",
    "Works at Acme",
    "Is married to Tom",
    "Birthday is on 15 March",
    "Grew up in Lagos",
    "Speaks Spanish and English",
    "Studied at MIT",
    "Was diagnosed with asthma",
    "My sister is called Mia",
    "Solo developer based in Copenhagen",
    "Has a dog named Rex",
    "I am a vegetarian",
    "Ich wohne in Kassel",
    "Моя сестра живёт в Самаре",
]
CASES = [
    *((one, Category.PROJECT) for one in PROJECT),
    *((one, Category.PREFERENCE) for one in PREFERENCE),
    *((one, Category.IDENTITY) for one in IDENTITY),
]


@pytest.mark.parametrize(("statement", "category"), CASES, ids=[one for one, _ in CASES])
def test_a_statement_is_sorted_by_its_words(statement: str, category: Category) -> None:
    assert category_of(statement) is category


@pytest.mark.parametrize("statement", ["", "42", "…"])
def test_what_says_nothing_known_is_a_preference(statement: str) -> None:
    assert category_of(statement) is Category.PREFERENCE
