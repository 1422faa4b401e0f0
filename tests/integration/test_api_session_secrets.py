"""No secret that stands in a recorded session stands in anything that is made of it; the original keeps every byte."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.compressing import long_talk
from tests.support.sessions import PROJECT, Sessions, digest

SECRETS = (
    "Kestrel!Pond77", "sk-live-51Hq8ZyExAmPlE9xY2bQw7", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "hunter22",
    "zebra-Crossing-9", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "quince-Jam-4",
    "plum-Kestrel", "medlar-Kestrel",
)  # fmt: skip
PROMPT = (
    "The SMTP password is Kestrel!Pond77 and the API key is sk-live-51Hq8ZyExAmPlE9xY2bQw7. Never commit kites.env. "
    "##keepit1.00## The kite key is ghp_16C7e42F292c6912E7710c838347Ae178B4a. Fly it on Sundays only.\n\n"
    "Password: ##keepit1.00## zebra-Crossing-9\n\nThe POP3 password:\n```\nmedlar-Kestrel\n```\n\n"
    "##keepit1.00## The SMTP password:\n\nplum-Kestrel"
)
OUTPUT = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\nDB_URL=postgres://app:hunter22@db/app\nREGION=north"


@pytest.fixture
def sessions(sessions: Sessions) -> Sessions:
    """A session ``s1`` in which secrets were said, marked, given to tools, given back and asked about last."""
    said = sessions.shelf.transcript("s1").human(PROMPT)
    said.tool("Bash", OUTPUT, command="cat kites.env").tool("Login", "ok", password="quince-Jam-4", user="ada")
    long_talk(said, 5).assistant("I put the password Kestrel!Pond77 into `.env`. The kites fly.")
    said.human("Is the password Kestrel!Pond77 used? Check kites.env once more.")
    sessions.shelf.add(said, PROJECT, "chat")
    sessions.index()
    return sessions


def held(text: str) -> list[str]:
    return [one for one in SECRETS if one in text]


@pytest.mark.parametrize("ratio", [2, 10, 30])
def test_no_version_holds_a_secret_and_each_says_that_some_are_masked(sessions: Sessions, ratio: int) -> None:
    original = digest(sessions.copy_of())
    version = sessions.compress(mode="uniform", compactionRatio=ratio)["version"]
    texts = [sessions.text("/sessions/s1/versions/v001", format=form) for form in ("markdown", "jsonl")]
    assert [held(text) for text in texts] == [[], []]
    assert "Fly it on Sundays only." in texts[0] and "Check kites.env once more." in texts[0]
    assert version["why"].startswith("Left out: ") and "sentences that hold a secret" in version["why"]
    assert version["keepitStats"]["preserved"] == 3
    assert digest(sessions.copy_of()) == original


@pytest.mark.parametrize("version", ["original", "auto"])
def test_no_composition_holds_a_secret(sessions: Sessions, version: str) -> None:
    budget = 1500 if version == "auto" else 9000
    made = sessions.compose("start", {"sessionId": "s1", "versionId": version}, budget=budget)
    sessions.work_off()
    texts = [sessions.text(f"/compositions/{made['compositionId']}", format=form) for form in ("markdown", "jsonl")]
    assert [held(text) for text in texts] == [[], []] and "Fly it on Sundays only." in texts[0]


def test_no_secret_is_a_topic_a_first_prompt_or_found(sessions: Sessions) -> None:
    sessions.compress(mode="uniform", compactionRatio=3)
    sessions.index()
    listed: Any = sessions.get(f"/projects/{PROJECT}")
    assert held(str(listed)) == [] and "Never commit kites.env." in str(listed)
    for text in (*SECRETS, "password kites.env", "Sundays"):
        found = sessions.ask("POST", "/sessions/search", body={"text": text})["results"]
        assert held(str(found)) == []
    assert "Sundays" in str(found)
    assert PROMPT[:40] in sessions.get("/sessions/s1/messages")["messages"][0]["text"]
