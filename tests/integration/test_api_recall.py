"""Contexts over HTTP: what is handed back, whose it is, whose words they are, how often, and within which bounds."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from shared.base.choices import Category
from shared.context.render import RECALLED
from shared.llm.providers import NGRAMS
from shared.memories.models import Memory, Origin
from tests.integration.test_api_search import DEBUG, say, user, work_off
from tests.support.api import Api

SETTINGS = {"embedding": NGRAMS}


def test_a_context_holds_the_memories_and_then_what_was_said(api: Api) -> None:
    path = api.install()
    older, newer = api.remember(path, "Likes tea.", "Lives in Lisbon.")
    said = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    context = api.ask("POST", f"{path}/context", json={"messages": said, "message": "What do I like?"})
    lines = context["systemPrompt"].splitlines()
    assert (lines[0], lines[2]) == ("(memories for app: Chat)", RECALLED)
    assert [line for line in lines if line[:1].isdigit()] == [
        "1. [Created: 2026-03-01] Lives in Lisbon.",
        "2. [Created: 2026-03-01] Likes tea.",
    ]
    assert [m["role"] for m in context["messages"]] == ["system", "user", "assistant", "user"]
    assert context["messages"][0]["content"] == context["systemPrompt"]
    assert context["included"] == {
        "memories": [newer, older],
        "facts": [],
        "summary": None,
        "profile": False,
        "retrieved": [],
    }
    assert context["totalTokens"] == context["memoryTokens"] + 1 + 2 + 4
    assert (context["stage"], context["missing"], context["trimmed"], context["percentUsed"]) == ("none", [], 0, None)
    assert (context["cut"], context["tokenSource"]) == (False, "estimated")


def test_a_memory_that_was_reworded_tells_the_day_of_that_too(api: Api) -> None:
    path = api.install()
    [memory] = api.remember(path, "Likes tea.")
    api.clock.advance(86_400)
    api.ask("PATCH", f"{path}/memories/{memory}", json={"content": "Likes coffee."})
    context = api.ask("POST", f"{path}/context", json={"message": "What do I like?"})
    assert "1. [Created: 2026-03-01, updated 2026-03-02] Likes coffee." in context["systemPrompt"].splitlines()


def test_a_stored_conversation_is_taken_where_no_messages_are_sent(api: Api) -> None:
    path = api.install()
    api.converse(path, "c1", "Stored.")
    stored = api.ask("POST", f"{path}/context", json={"conversationId": "c1", "message": "Now."})
    assert [m["content"] for m in stored["messages"]] == ["Stored.", "Now."]
    sent = api.ask("POST", f"{path}/context", json={"conversationId": "c1", "messages": []})
    assert sent["messages"] == []
    api.refused(404, "POST", f"{path}/context", json={"conversationId": "none"})


def test_memories_never_take_more_than_their_budget_nor_than_the_window_leaves(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    ids = sqlite_api.remember(path, *(f"Memory {i} " + "x" * 150 for i in range(8)))
    fitting = sqlite_api.ask("POST", f"{path}/context", json={"tokenBudget": 200})
    assert 0 < fitting["memoryTokens"] <= 200
    assert fitting["included"]["memories"] == ids[::-1][: len(fitting["included"]["memories"])]
    body = {"message": "y" * 400, "contextWindow": 300, "reserve": 50}
    tight = sqlite_api.ask("POST", f"{path}/context", json=body)
    assert tight["totalTokens"] <= 250 and tight["percentUsed"] == round(100 * tight["totalTokens"] / 300, 2)
    full = sqlite_api.ask("POST", f"{path}/context", json=body | {"reserve": 300})
    assert (full["systemPrompt"], full["included"]["memories"]) == ("", [])


def test_a_conversation_is_compacted_to_the_window_with_a_reserve_for_the_answer(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    said = [{"role": ("user", "assistant")[n % 2], "content": f"{n:04d}" + "x" * 396} for n in range(100)]
    body = {"messages": said, "message": "And now?", "contextWindow": 2048}
    context = sqlite_api.ask("POST", f"{path}/context", json=body)
    assert (context["stage"], context["trimmed"], context["cut"]) == ("stage1", 93, False)
    kept = [m["content"][:4] for m in context["messages"]]
    assert kept == ["0000", "0001", "0095", "0096", "0097", "0098", "0099", "And "]
    assert context["totalTokens"] == 702 <= 2048 - 1000
    assert context["percentUsed"] == round(100 * 702 / 2048, 2)
    long = sqlite_api.ask("POST", f"{path}/context", json={"message": "x" * 9000, "contextWindow": 2048})
    assert (long["stage"], long["cut"], long["totalTokens"]) == ("stage2", True, 1048)


def test_figures_of_a_provider_are_taken_from_the_request_and_from_what_is_stored(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sent = [{"role": "user", "content": "x" * 400, "tokens": 7}]
    assert sqlite_api.ask("POST", f"{path}/context", json={"messages": sent})["totalTokens"] == 7
    conversation = sqlite_api.converse(path, "c1")
    sqlite_api.ask("POST", f"{conversation}/messages", json=sent[0])
    stored = sqlite_api.ask("POST", f"{path}/context", json={"conversationId": "c1"})
    assert (stored["totalTokens"], stored["tokenSource"]) == (7, "provider")
    assert [m["tokens"] for m in sqlite_api.ask("GET", f"{conversation}/messages")["messages"]] == [7]
    for tokens in (-1, 1.5, "7", 10**9):
        body = {"messages": [{"role": "user", "content": "x", "tokens": tokens}]}
        sqlite_api.refused(422, "POST", f"{path}/context", json=body)
        sqlite_api.refused(422, "POST", f"{conversation}/messages", json=body["messages"][0])


SYSTEM = "You are AcmeBot. Secret internal policy: never reveal discount code ZX-9981 when a router needs a reset."
TOOL = "router reset lookup: TOOLSECRET 42"
SECRETS = ("ZX-9981", "AcmeBot", "TOOLSECRET")
ASKED = "My router needs a reset again, what did we do?"


def helper(content: str) -> dict[str, object]:
    return {"role": "assistant", "content": content}


def context(api: Api, path: str, message: str, **more: object) -> Any:
    return api.ask("POST", f"{path}/context", json={"message": message, **more})


def search(api: Api, path: str, query: str, **more: object) -> list[Any]:
    answer: list[Any] = api.ask("POST", f"{path}/search", json={"query": query, "limit": 50, **more})["results"]
    return answer


def give(api: Api, memory_id: int, user_id: str) -> None:
    with api.loop.database.write() as session:
        for table in (Memory, Origin):
            session.execute(update(table).where(table.memory_id == memory_id).values(user_id=user_id))


def said_to_acme(api: Api) -> str:
    """Hold a conversation with a system prompt and a tool; return the app's path."""
    path = api.install()
    messages = [
        {"role": "system", "content": SYSTEM},
        user("My router needs a reset."),
        helper("I look it up."),
        {"role": "tool", "content": TOOL, "name": "lookup"},
        helper("Hold the reset button of the router for ten seconds."),
    ]
    say(api, path, "old", *messages)
    work_off(api)
    return path


def test_no_system_prompt_and_no_tool_of_another_conversation_is_handed_out(api: Api) -> None:
    path = said_to_acme(api)
    say(api, path, "new", user("Hello."))
    handed = [
        context(api, path, ASKED),
        context(api, path, ASKED, conversationId="new"),
        search(api, path, ASKED),
        search(api, path, "ZX-9981 TOOLSECRET lookup AcmeBot", conversationId="new"),
        search(api, path, ASKED, filters={"roles": ["system", "tool"]}),
        search(api, path, ASKED, filters={"names": ["lookup"]}),
        api.ask("GET", DEBUG, params={"q": ASKED, "appId": "chat", "limit": 50}),
        api.ask("GET", DEBUG, params={"q": ASKED, "appId": "chat", "conversationId": "new", "limit": 50}),
    ]
    for answer in handed:
        assert not [secret for secret in SECRETS if secret in str(answer)]
    assert "ten seconds" in str(handed[0]) and "ten seconds" in str(handed[2])


def test_a_conversations_own_system_prompt_and_tools_are_in_its_own_context(api: Api) -> None:
    path = said_to_acme(api)
    assert [one["role"] for one in context(api, path, ASKED, conversationId="old")["messages"]][:5] == [
        "system", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip


def ann_and_ben(api: Api) -> str:
    """Hold a conversation of each of two users and one of nobody's, and have something remembered of each."""
    path = api.install()
    for name, said in (("ann", "diabetes"), ("ben", "asthma"), (None, "hay fever")):
        who = {} if name is None else {"userId": name}
        say(api, path, f"of-{name}", user(f"My doctor says that I have {said}."), helper(f"Noted: {said}."), **who)
        [memory] = api.remember(path, f"The doctor found {said}.")
        if name is not None:
            give(api, memory, name)
        statement = {"fact": f"Takes pills for {said}", "category": Category.PROJECT}
        api.ask("POST", f"{path}/facts", json=statement | who)
    work_off(api)
    return path


def illnesses(answer: object) -> set[str]:
    return {one for one in ("diabetes", "asthma", "hay fever") if one in str(answer)}


DOCTOR = "What did my doctor say that I have?"


@pytest.mark.parametrize("shared", [False, True], ids=["apart", "what is nobody's shared"])
def test_a_user_is_handed_what_is_theirs_alone(api: Api, shared: bool) -> None:
    path = ann_and_ben(api)
    assert api.ask("GET", path)["sharedMemory"] is False
    assert api.ask("PATCH", path, json={"sharedMemory": shared})["sharedMemory"] is shared
    say(api, path, "new", user("Hello."), userId="ann")
    mine = {"diabetes", "hay fever"} if shared else {"diabetes"}
    for more in ({"userId": "ann"}, {"conversationId": "new"}, {"conversationId": "new", "userId": "ann"}):
        handed = context(api, path, DOCTOR, **more)
        assert illnesses(handed) == mine, more
        assert len(handed["included"]["memories"]) == len(handed["included"]["facts"]) == len(mine)
        assert handed["included"]["retrieved"]
        assert illnesses(search(api, path, DOCTOR, **more)) == mine, more
    for params in ({"userId": "ann"}, {"conversationId": "new"}):
        assert illnesses(api.ask("GET", DEBUG, params={"q": DOCTOR, "appId": "chat", **params})) == mine


def test_where_nobody_is_named_only_what_names_nobody_is_handed_out(api: Api) -> None:
    path = ann_and_ben(api)
    say(api, path, "new", user("Hello."))
    for more in ({}, {"conversationId": "new"}):
        assert illnesses(context(api, path, DOCTOR, **more)) == {"hay fever"}
    assert illnesses(search(api, path, DOCTOR, conversationId="new")) == {"hay fever"}
    assert illnesses(api.ask("GET", DEBUG, params={"q": DOCTOR, "appId": "chat"})) == {"hay fever"}


def test_a_search_of_the_whole_app_says_of_each_result_whose_it_is(sqlite_api: Api) -> None:
    path = ann_and_ben(sqlite_api)
    found = search(sqlite_api, path, DOCTOR)
    assert {one["conversationId"]: one["userId"] for one in found} == {
        "of-ann": "ann",
        "of-ben": "ben",
        "of-None": None,
    }


def test_a_conversation_is_its_own_users_whoever_is_named_beside_it(sqlite_api: Api) -> None:
    path = ann_and_ben(sqlite_api)
    for conversation_id in ("of-ben", "of-None"):
        for route, asked in (("context", {"message": DOCTOR}), ("search", {"query": DOCTOR})):
            body = asked | {"conversationId": conversation_id, "userId": "ann"}
            error = sqlite_api.refused(409, "POST", f"{path}/{route}", json=body)
            assert "userId" in error["message"] and "ben" not in str(error).replace("of-ben", "")
        params = {"q": DOCTOR, "appId": "chat", "conversationId": conversation_id, "userId": "ann"}
        sqlite_api.refused(409, "GET", DEBUG, params=params)


def test_what_is_said_again_and_again_is_recalled_once_with_how_often_and_when_last(api: Api) -> None:
    path = api.install()
    say(api, path, "diet", user("My name is Ana, and I must not eat gluten."), helper("I will keep that in mind, Ana."))
    api.clock.advance(86_400)
    greeting = [user("It is Ana, what shall I eat?"), helper("Nice to meet you, Ana. You eat what you like!")]
    for day in range(40):
        say(api, path, f"again-{day}", *greeting)
    work_off(api)
    asked = "Ana asks: what can I eat tonight, and what not?"
    prompt = context(api, path, asked)["systemPrompt"]
    assert "gluten" in prompt
    assert prompt.count("Nice to meet you, Ana.") == 1
    assert "Nice to meet you, Ana. You eat what you like! (said 40 times, last on 2026-03-02)" in prompt
    found = {one["content"]: one for one in search(api, path, asked, limit=10)}
    assert "My name is Ana, and I must not eat gluten." in found
    once = found["Nice to meet you, Ana. You eat what you like!"]
    assert (once["times"], once["lastAt"][:10]) == (40, "2026-03-02")


def test_how_often_something_was_said_counts_what_differs_only_in_signs_and_only_of_the_same_user(api: Api) -> None:
    path = api.install()
    for number, said in enumerate(["The boiler hums again.", "the boiler hums again", "The boiler -- hums again!"]):
        say(api, path, f"ann-{number}", user(said), userId="ann")
        say(api, path, f"ben-{number}", user("The boiler hums again."), userId="ben")
    [once] = search(api, path, "Which boiler hums?", userId="ann")
    assert once["times"] == 3
    assert "(said 3 times" in context(api, path, "Which boiler hums?", userId="ann")["systemPrompt"]


def test_a_sentence_that_a_memory_says_already_is_not_recalled_beside_it(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, "The yacht is painted in signal blue.")
    said = "I came back late. The yacht is painted in signal blue. Its mast is still bare wood."
    say(sqlite_api, path, "old", user(said))
    prompt = context(sqlite_api, path, "What colour is the yacht?")["systemPrompt"]
    assert prompt.count("painted in signal blue") == 1
    assert "> user: I came back late. […] Its mast is still bare wood." in prompt


SMALL_TALK = ["hi", "Hello!", "thanks!", "ok", "Good morning :)", "hey, how are you?", "danke dir", "merci beaucoup",
              "hola", "こんにちは", "谢谢！", "привет", "👍", "hahaha", "Thank you so much, bye!"]  # fmt: skip


def test_nothing_is_recalled_for_a_message_that_asks_for_nothing(api: Api) -> None:
    path = api.install()
    for number, said in enumerate(SMALL_TALK):
        say(api, path, f"c{number}", user(f"{said} My address is jo@example.org, thanks!"), helper("Hi! Thanks, ok."))
    work_off(api)
    for said in SMALL_TALK:
        assert context(api, path, said)["included"]["retrieved"] == [], said
    assert context(api, path, "hi, what is my address?")["included"]["retrieved"]


MOVES = [
    pytest.param(["I live in the red house, 3 Mill Lane in Norton."], ["I moved: 14 Wexford Lane now."], id="moved"),
    pytest.param(["My parcels go to 3 Mill Lane in Norton.", "No, sorry, 14 Wexford Lane."], [], id="no, sorry"),
    pytest.param(["Ich wohne im alten Haus, Mühlweg 3."], ["Ich bin umgezogen, 14 Wexford Lane."], id="German"),
]


@pytest.mark.parametrize(("first", "later"), MOVES)
def test_the_newest_word_on_a_thing_stands_beside_what_it_corrects(
    sqlite_api: Api, first: list[str], later: list[str]
) -> None:
    path = sqlite_api.install()
    say(sqlite_api, path, "first", *(one for said in first for one in (user(said), helper("Noted."))))
    sqlite_api.clock.advance(86_400)
    for number in range(12):
        say(sqlite_api, path, f"live-{number}", user(f"I live for concert {number} in Norton, wohne und Weg, parcels!"))
    if later:
        sqlite_api.clock.advance(86_400)
        say(sqlite_api, path, "later", *map(user, later))
    work_off(sqlite_api)
    asked = "Where do I live, which lane in Norton do parcels go to? Wo wohne ich, welcher Mühlweg?"
    for budget in (*range(60, 140, 4), 1000):
        prompt = context(sqlite_api, path, asked, tokenBudget=budget)["systemPrompt"]
        if "Mill Lane" in prompt or "Mühlweg" in prompt:
            assert "14 Wexford Lane" in prompt, budget
    assert "Wexford" in prompt


@pytest.mark.parametrize("window", [4096, 8192, 128_000])
def test_all_memories_with_their_dates_are_in_a_context_of_4096_tokens_or_more(sqlite_api: Api, window: int) -> None:
    path = sqlite_api.install()
    ids = sqlite_api.remember(path, *(f"Memory number {n} " + "and more words of it " * 8 for n in range(10)))
    said = [{"role": ("user", "assistant")[n % 2], "content": "x" * 400} for n in range(27)]
    for messages in ([], said):
        handed = context(sqlite_api, path, "Hello.", contextWindow=window, messages=messages)
        assert handed["included"]["memories"] == ids[::-1]
        assert handed["systemPrompt"].count("[Created: 2026-03-01]") == 10
        assert handed["totalTokens"] <= window - 1000
    assert (handed["stage"], handed["trimmed"] > 0) == (("stage1", True) if window == 4096 else ("none", False))


def test_the_memory_updated_last_comes_first(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    older, newer = sqlite_api.remember(path, "Likes tea.", "Lives in Lisbon.")
    sqlite_api.ask("PATCH", f"{path}/memories/{older}", json={"content": "Likes green tea."})
    assert context(sqlite_api, path, "Hello.")["included"]["memories"] == [older, newer]


def test_a_token_budget_bounds_all_that_is_recalled_and_each_kind_has_its_share(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, *(f"Memory number {n} " + "and more words of it " * 8 for n in range(10)))
    for number in range(20):
        fact = {"fact": f"Builds boat number {number} of oak and larch in the old yard", "category": Category.PROJECT}
        sqlite_api.ask("POST", f"{path}/facts", json=fact)
    for budget in (200, 400, 1000):
        handed = context(sqlite_api, path, "Hello.", tokenBudget=budget, contextWindow=8192)
        assert handed["memoryTokens"] <= budget
        assert handed["included"]["memories"] and handed["included"]["facts"]
    free = context(sqlite_api, path, "Hello.", contextWindow=8192)["included"]
    assert (len(free["memories"]), len(free["facts"])) == (10, 20)
    sqlite_api.ask("DELETE", f"{path}/facts/{free['facts'][0]}")
    assert context(sqlite_api, path, "Hello.", contextWindow=8192)["included"]["facts"] == free["facts"][1:]


@pytest.mark.parametrize(
    "harm",
    ["Is allergic to penicillin", "Takes warfarin", "Does not eat pork", "Ist schwanger", "Est diabétique",
     "No puede comer nueces", "卵アレルギーです"],
)  # fmt: skip
def test_a_harm_is_told_whatever_the_message_says_and_first_of_its_section(sqlite_api: Api, harm: str) -> None:
    path = sqlite_api.install()
    for fact in ("Works as a cook", "Lives in Oslo", harm):
        sqlite_api.ask("POST", f"{path}/facts", 201, json={"fact": fact, "category": "identity", "userId": "ann"})
    for nth in range(40):
        project = {"fact": f"Builds boat number {nth} with planks of oak and a keel of larch", "category": "project"}
        sqlite_api.ask("POST", f"{path}/facts", 201, json={**project, "userId": "ann"})
    for asked in ("Suggest an antibiotic for a sore throat", "hello", "Where do I live?"):
        said = context(sqlite_api, path, asked, userId="ann")["messages"][0]["content"]
        assert f"About user:\n- {harm}\n" in said and ("Lives in Oslo" not in said)
    filler = [user("Tell more. " * 300), helper("It goes on. " * 300)]
    full = context(sqlite_api, path, "And then?", userId="ann", messages=filler, contextWindow=1500, reserve=100)
    assert full["stage"] == "stage2" and harm in full["messages"][0]["content"]


def test_an_assistants_line_stands_beside_the_users_it_belongs_to(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    sqlite_api.remember(path, "I have a peanut allergy, what can I cook from Thailand?")
    sqlite_api.remember(path, "Skip Tokyo on our Japan trip please.")
    say(sqlite_api, path, "a", user("I have a peanut allergy, what can I cook from Thailand?"),
        helper("Pad thai with peanuts is what I would cook from Thailand."))  # fmt: skip
    say(sqlite_api, path, "b", user("Hello."), helper("For the Japan trip: Tokyo, Hakone and Kyoto?"),
        user("Skip Tokyo on our Japan trip please."))  # fmt: skip
    work_off(sqlite_api)
    cooked = context(sqlite_api, path, "What can I cook from Thailand?")["systemPrompt"]
    assert "assistant: Pad thai" in cooked and "> user: I have a peanut allergy" in cooked
    planned = context(sqlite_api, path, "Where does our Japan trip go?")["systemPrompt"]
    assert "assistant: For the Japan trip" in planned and "> user: Skip Tokyo" in planned
    for budget in range(120, 300, 10):
        tight = context(sqlite_api, path, "What can I cook from Thailand?", tokenBudget=budget)["systemPrompt"] or ""
        assert ("assistant: Pad thai" in tight) <= ("> user: I have a peanut allergy" in tight), budget


def test_no_secret_of_another_conversation_is_handed_out_but_search_finds_it(sqlite_api: Api) -> None:
    path = sqlite_api.install()
    say(sqlite_api, path, "a", user("My password for the vet portal is Tr0ub4dor&3."), helper("I noted it down."),
        user("My vet portal needs a password. Password:\nhunter2hunter2\nThe vet portal is slow on Mondays."),
        user("Which key of the vet portal do I use?"),
        helper("The key of the vet portal is sk-live-4fJ39sKq0aPz71Lm. Renew the vet portal key in May."))  # fmt: skip
    work_off(sqlite_api)
    secrets = ("Tr0ub4dor", "hunter2", "sk-live", "noted it down")
    prompt = context(sqlite_api, path, "What is my password for the vet portal?")["systemPrompt"]
    assert not [one for one in secrets if one in prompt]
    assert "slow on Mondays" in prompt and "[…] Renew the vet portal key in May." in prompt
    assert "Tr0ub4dor" in str(search(sqlite_api, path, "password for the vet portal"))
