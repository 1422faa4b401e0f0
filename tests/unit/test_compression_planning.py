"""How a version is asked for, what is chosen for it and how it is told: presets, tiers, rules, requests, names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shared.base.choices import Aggressiveness, KeepitMode, TierPreset
from shared.sessions.blocks import Block, BlockKind, RecordedToolCall, markdown_lines, markdown_of
from shared.sessions.compress.plan import Rank, is_rule, pieces_of, plan_compression, statements_in
from shared.sessions.compress.run import Version
from shared.sessions.compress.settings import PRESETS, CompressionMode, CompressionSettings, Tier, aggressiveness_of
from shared.sessions.compress.sources import failure_line, has_failed, read_original, shorten_input, shorten_result
from shared.sessions.text import NameRanking, cut, names_in
from shared.sessions.transcripts.contents import read_blocks
from tests.support.clock import FrozenClock
from tests.support.odd_recorder import REJECTED, STOP
from tests.support.recordings import Transcript
from tests.unit.test_compression_properties import compressed

MIN, MOD, AGG = Aggressiveness.MINIMAL, Aggressiveness.MODERATE, Aggressiveness.AGGRESSIVE
ORACLE = {
    TierPreset.GENTLE: [(25, 10, MOD), (50, 7, MOD), (75, 5, MIN), (90, 4, MIN), (100, 2, MIN)],
    TierPreset.STANDARD: [(25, 25, AGG), (50, 15, AGG), (75, 10, MOD), (90, 5, MOD), (100, 3, MIN)],
    TierPreset.AGGRESSIVE: [(25, 50, AGG), (50, 35, AGG), (75, 20, AGG), (90, 10, MOD), (100, 5, MIN)],
}
TIERS = [{"endPercent": 40, "compactionRatio": 20, "aggressiveness": "moderate"},
         {"endPercent": 100, "compactionRatio": 10, "aggressiveness": "moderate"}]  # fmt: skip


@pytest.mark.parametrize("preset", ORACLE)
def test_a_preset_has_the_tiers_of_the_oracle(preset: TierPreset) -> None:
    found = CompressionSettings(tier_preset=preset).tiers
    assert [(one.end_percent, one.compaction_ratio, one.aggressiveness) for one in found] == ORACLE[preset]
    assert PRESETS.keys() == ORACLE.keys()


def test_every_default_is_written_out() -> None:
    plain = CompressionSettings().complete("ollama:x")
    assert (plain.mode, plain.tier_preset, plain.model) == (CompressionMode.TIERED, TierPreset.STANDARD, "ollama:x")
    assert (plain.keepit_mode, plain.session_distance, plain.skip_first_messages) == (KeepitMode.DECAY, 1, 0)
    uniform = CompressionSettings(mode=CompressionMode.UNIFORM, model="extractive").complete("ollama:x")
    assert (uniform.compaction_ratio, uniform.aggressiveness, uniform.model) == (10, MOD, "extractive")
    custom = CompressionSettings.model_validate({"customTiers": TIERS}).complete("extractive")
    assert (custom.tier_preset, [one.compaction_ratio for one in custom.tiers]) == (TierPreset.CUSTOM, [20, 10])


@pytest.mark.parametrize(("ratio", "how"), [(2, MIN), (5, MIN), (6, MOD), (15, MOD), (16, AGG), (100, AGG)])
def test_a_ratio_says_how_aggressive_it_is_unless_it_is_said(ratio: int, how: Aggressiveness) -> None:
    assert aggressiveness_of(ratio) is how
    uniform = CompressionSettings(mode=CompressionMode.UNIFORM, compaction_ratio=ratio)
    assert uniform.model_copy(update={"aggressiveness": MIN}).complete("extractive").aggressiveness is MIN
    (only,) = uniform.complete("extractive").tiers
    assert (only.end_percent, only.compaction_ratio, only.aggressiveness) == (100, ratio, how)


@pytest.mark.parametrize(
    ("given", "label"),
    [({}, "tiered-standard"), ({"tierPreset": "gentle"}, "tiered-gentle"), ({"customTiers": TIERS}, "tiered-custom"),
     ({"mode": "uniform", "compactionRatio": 30}, "uniform-aggressive")],
)  # fmt: skip
def test_the_name_of_a_version_says_how_it_was_made(given: dict[str, Any], label: str) -> None:
    assert CompressionSettings.model_validate(given).complete("extractive").label == label


Make = Callable[[Transcript, int], Version]


def talk() -> Transcript:
    return Transcript("s1", FrozenClock().now())


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(transcript: Transcript, ratio: int, **more: Any) -> Version:
        (tmp_path / "s.jsonl").write_text(transcript.text(), "utf-8")
        wanted = CompressionSettings(mode="uniform", compaction_ratio=ratio, **more)
        return compressed(tmp_path / "s.jsonl", wanted.complete("extractive"))

    return made


def texts(made: Version, kind: BlockKind) -> list[str]:
    return [segment.text for segment in made.blocks if segment.kind is kind]


def whole(made: Version) -> str:
    return "".join(markdown_lines(made.blocks, made.heading))


@pytest.mark.parametrize(
    ("messages", "skipped", "tiers"),
    [(100, 0, (25, 25, 25, 15, 10)), (20, 0, (5, 5, 5, 3, 2)), (3, 0, (0, 1, 1, 0, 1)), (1, 0, (0, 0, 0, 0, 1)),
     (120, 20, (25, 25, 25, 15, 10)), (5, 5, (0, 0, 0, 0, 0))],
    ids=str,
)  # fmt: skip
def test_tiers_are_parts_of_what_is_left_after_skipping(
    tmp_path: Path, messages: int, skipped: int, tiers: tuple[int, ...]
) -> None:
    transcript = talk()
    for number in range(messages):
        transcript.human(f"prompt {number}")
    (tmp_path / "s.jsonl").write_text(transcript.text(), "utf-8")
    wanted = CompressionSettings(skip_first_messages=skipped).complete("extractive")
    planned = plan_compression(read_original(read_blocks(tmp_path / "s.jsonl"), "s1", {}, 3), wanted)
    assert tuple([block.tier for block in planned.blocks].count(tier) for tier in range(5)) == tiers
    assert planned.messages == messages - skipped


def test_nothing_skipped_is_in_the_version_but_what_is_pinned_there(make: Make) -> None:
    transcript = talk().human("##keepit1.00## kept-though-skipped").assistant("forgotten words")
    made = make(transcript.human("the rest of it").assistant("is here"), 2, skip_first_messages=2)
    assert "kept-though-skipped" in whole(made) and "forgotten" not in whole(made)
    assert made.plan.input_tokens == 6, "only what is left counts"


def test_tool_records_go_before_words(make: Make) -> None:
    transcript = talk()
    for number in range(12):
        transcript.human(f"Look at part {number} and say what is wrong with gear_{number}.")
        transcript.tool("Read", f"line of part {number}\n" * 200, file_path=f"/w/part_{number}.py")
        transcript.assistant(f"Gear_{number} is worn out because nobody oiled it.")
    made = make(transcript, 10)
    told = "".join(texts(made, BlockKind.REQUEST) + texts(made, BlockKind.WORDS))
    assert all(f"gear_{number}" in told and f"Gear_{number} is worn out" in told for number in range(12))
    assert whole(made).count("line of part") < 200


def test_rules_the_last_request_and_failures_stand_at_a_high_ratio_too(make: Make) -> None:
    transcript = talk().human("Build the shed. Never use nails, use screws instead of them.")
    for number in range(40):
        transcript.tool("Read", "timber\n" * 300, file_path=f"/w/{number}")
        transcript.assistant(f"I looked at beam {number} and it seems to be all right so far.")
    transcript.tool("Bash", "Exit code 2\nmake: *** No rule to make target 'shed'.", True, command="make shed")
    last = "Now paint it in green,\nand tell me when it is dry."
    made = make(transcript.human(last).assistant("It is painted."), 30)
    assert texts(made, BlockKind.REQUEST)[0] == "Build the shed. Never use nails, use screws instead of them."
    assert last in texts(made, BlockKind.REQUEST)
    [request] = [one for one in made.blocks if one.text == last]
    assert request.is_pinned
    assert texts(made, BlockKind.FAILURE) == ["ran `make shed`: make: *** No rule to make target 'shed'."]
    assert made.ratio == pytest.approx(30, rel=0.2)


def test_a_last_request_that_is_too_long_keeps_its_beginning_and_its_end(make: Make) -> None:
    one = "Sort this list: " + "apples and pears, " * 400 + "and print it at the end."
    [request] = texts(make(talk().human(one), 20), BlockKind.REQUEST)
    assert request.startswith("Sort this list:") and request.endswith(" […]"), "it is one sentence, and not spliced"
    many = "".join(f"Fruit {number} is an apple. " for number in range(400))
    [request] = texts(make(talk().human(f"Sort this list. {many}Print it at the end."), 20), BlockKind.REQUEST)
    assert request.startswith("Sort this list. Fruit 0 is an apple.") and request.endswith("Print it at the end.")
    head, tail = request.split("[…]")
    assert tail.count("Fruit") > head.count("Fruit") / 2, "what room is left is for both ends"


def test_a_call_that_was_refused_without_a_word_is_told(make: Make) -> None:
    transcript = talk().human("Tidy up what the build left behind.")
    transcript.tool("Bash", REJECTED + STOP, True, command="rm -r out")
    for number in range(20):
        transcript.tool("Read", "log\n" * 300, file_path=f"/w/{number}")
    made = make(transcript.assistant("Nothing was deleted."), 20)
    assert texts(made, BlockKind.FAILURE) == ["Bash `rm -r out`: refused by the user"]


def test_calls_of_a_run_are_told_in_one_line(make: Make) -> None:
    transcript = talk().human("Make the parser faster, please.")
    calls = [
        ("Read", {"file_path": "a.py"}), ("Read", {"file_path": "b.py"}),
        ("Edit", {"file_path": "c.py", "old_string": "x", "new_string": "y"}),
        ("Edit", {"file_path": "c.py", "old_string": "y", "new_string": "z"}),
        ("Bash", {"command": "make  test\n"}), ("mcp__x__y", {"q": 1}),
    ]  # fmt: skip
    for tool, given in calls:
        transcript.tool(tool, "It went on and on. " * 40, **given)
    made = make(transcript.assistant("It is faster now."), 12)
    assert 'Read a.py, b.py; edited c.py; ran `make test`; used mcp__x__y: {"q": 1}' in texts(made, BlockKind.TOOL)


def test_a_call_is_kept_with_its_result_where_there_is_room_and_their_ids_agree(make: Make) -> None:
    transcript = talk().human("Test it.").tool("Bash", "12 passed\n" * 200, command="make test").assistant("It passes.")
    [pair] = [segment for segment in make(transcript, 2).blocks if segment.call]
    assert pair.call is not None and pair.call.input == {"command": "make test"}
    assert pair.call.result and "12 passed" in pair.call.result and pair.call.tool_use_id == "toolu_1"


def test_of_a_result_the_lines_that_say_how_it_went_stay_and_of_an_input_what_identifies_it() -> None:
    result = "\n".join([*(f"ok {n}" for n in range(99)), "ERROR in b.py: boom", *("ok" for _ in range(99)), "3 failed"])
    told = shorten_result(result, 120)
    assert len(told) <= 120 and "ERROR in b.py: boom" in told and "3 failed" in told and "ok 0" in told
    assert shorten_result("short", 120) == "short" and len(shorten_result("x" * 9_999, 120)) <= 120
    kept = shorten_input({"old_string": "x" * 500, "file_path": "/w/a.py", "limit": 3}, 100)
    assert kept["file_path"] == "/w/a.py" and len(kept["old_string"]) <= 100


@pytest.mark.parametrize(
    ("tool", "result", "is_error", "failed"),
    [("Bash", "Traceback (most recent call last)\nKeyError: 1", False, True), ("Bash", "all good", False, False),
     ("Bash", "12 errors were fixed", False, False), ("Read", "Error: in the text that was read", False, False),
     ("Read", "File does not exist.", True, True)],
    ids=["a traceback", "good", "errors told of", "read", "by its own word"],
)  # fmt: skip
def test_a_failed_attempt_is_told_from_talk_of_errors(tool: str, result: str, is_error: bool, failed: bool) -> None:
    assert has_failed(RecordedToolCall("1", tool, {}, result, is_error)) is failed


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ("<tool_use_error>\nloading\nModuleNotFoundError: No module named 'x'\n  at y\n</tool_use_error>",
         "ModuleNotFoundError: No module named 'x'"),
        ("Exit code 1\n\n> vitest run\n FAIL a.test.ts\nAssertionError: 3 is not 4", "AssertionError: 3 is not 4"),
        ("FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for ':t'.",
         "Execution failed"),
        ('Traceback (most recent call last):\n  File "a.py", line 3\nValueError: no queen', "ValueError: no queen"),
        ("Exit code 8\nTest project /b\n 1/4 Test #1: test_i2c ....***Failed 0.42 sec", "1/4 Test #1: test_i2c"),
    ],
    ids=["first that says why", "vitest", "gradle", "python", "ctest"],
)  # fmt: skip
def test_a_failure_names_what_was_tried_and_why_it_failed(result: str, why: str) -> None:
    assert failure_line(RecordedToolCall("1", "Bash", {"command": "run it all"}, result)).startswith(
        f"ran `run it all`: {why}"
    )


@pytest.mark.parametrize(
    ("text", "standing"),
    [("Always run the tests first.", True), ("Never push to main.", True), ("Please don't touch a.py.", True),
     ("Use tabs instead of spaces.", True), ("I prefer short names.", True), ("I don't know why it fails.", False),
     ("Why do you always fail?", False), ("Make it faster.", False), ("From now on, answer in German.", True),
     ("Each schema change must have a rollback.", True), ("It crashes after every restart.", False),
     ("Hands off vendor/.", True), ("Commit messages in English, please.", True), ("No tests were found.", False),
     ("Der Ordner archiv bleibt unangetastet.", True), ("Add a pause menu.", False), ("Make sure it builds.", True),
     ("No borres nada sin preguntar.", True), ("One commit per change.", True)],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_a_rule_is_told_from_a_remark(text: str, standing: bool) -> None:
    assert is_rule(text) is standing


def test_names_are_found_exactly_as_they_stand_and_quickly() -> None:
    text = (
        "See src/wind/parse.py and https://kites.example/a?b=c#d, run `make fly --fast`; parse_wind() and GustTable in "
        "v2.1.7 fail on ~/kites.toml since 3f2a9bc (#42), port 8700, MAX_GUSTS. And/or so, e.g. this."
    )
    assert list(names_in(text)) == [
        "src/wind/parse.py", "https://kites.example/a?b=c#d", "make fly --fast", "parse_wind", "GustTable", "v2.1.7",
        "~/kites.toml", "3f2a9bc", "#42", "8700", "MAX_GUSTS", "And/or",
    ]  # fmt: skip
    text = "<command-args></command-args> cut off: http://localhost:300… and look\\nDemo is src/new.py, `/init` too"
    assert list(names_in(text)) == ["src/new.py", "/init"], "what only looks like a name is none"
    for text in ("a" * 100_000, "a." * 50_000, "/" * 100_000, "a/" * 50_000, "`" * 100_000, "_" * 100_000):
        names_in(text)


def test_names_that_found_no_place_are_listed_the_most_important_first(make: Make) -> None:
    transcript = talk().human("Mind gale_limit in conf/wind.toml and nothing else of it.")
    for number in range(60):
        transcript.assistant("It blows " * 20 + f"over value_{number}. " + "And on " * 20)
    names = ", ".join(texts(make(transcript, 10), BlockKind.NAMES)).split(", ")
    assert len(names) > 5 and all(name.startswith("value_") for name in names)


def test_of_a_file_that_is_named_twice_one_path_is_listed(make: Make) -> None:
    transcript = talk().human("Mind gale_limit.")
    for number in range(60):
        found = f"src/gust_{number % 3}.py\n/home/me/kites/src/gust_{number % 3}.py\n"
        transcript.tool("Bash", "ok\n" * 20 + found + "ok\n" * 20, command="make").assistant(
            f"It blows on day {number}. " * 9
        )
    names = ", ".join(texts(make(transcript, 10), BlockKind.NAMES)).split(", ")
    assert sorted(name.rsplit("/", 1)[-1] for name in names if "gust" in name) == [f"gust_{one}.py" for one in range(3)]


def test_bare_numbers_take_no_room_among_names() -> None:
    ranking = NameRanking()
    ranking.add("240 gears of gear_box, 241 of v1.2.0", 1.0)
    assert set(ranking.best_first()) == {"gear_box", "v1.2.0"}


def test_what_is_cut_ends_with_a_word_where_it_can() -> None:
    assert cut("Error: the tool failed with errors that go on", 22) == "Error: the tool…"
    assert cut("/a/path/without/any/space", 10) == "/a/path/w…"


def test_a_command_that_is_cut_keeps_its_backtick_and_what_stands_between_commands_is_no_name() -> None:
    told = "ran `python -m pytest -q tests/unit/test_a.py --maxfail=1`: it failed"
    for most in range(6, len(told)):
        assert cut(told, most).count("`") % 2 == 0 and len(cut(told, most)) <= most
    assert cut(told, 30) == "ran `python -m pytest -q…`" and cut(told, 5) == "ran…"
    assert list(names_in("See make_hive`. I tried `queen_log` and `mise run it`. I tried `swarm_log`.")) == [
        "make_hive", "queen_log", "mise run it", "swarm_log",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "shown"),
    [("Never push. ##keepit-1.00##", "Never push."), ("##keepit0.5## Never push.", "Never push."),
     ("Write `##keepit0.5##` before it.", "Write `##keepit0.5##` before it."),
     ("So:\n```\n##keepit1## a\n```", "So:\n```\n##keepit1## a\n```")],
    ids=["nothing behind it", "no such weight", "spoken of", "in code"],
)  # fmt: skip
def test_marks_that_mark_nothing_do_not_stand_in_a_version(make: Make, said: str, shown: str) -> None:
    transcript = talk().human(said).assistant("I read it. " + "It blows again over the hill. " * 30)
    assert f":** {shown}\n\n" in whole(make(transcript, 2)).replace(":**\n", ":** ")


def test_what_holds_no_word_goes_with_what_stands_before_it() -> None:
    transcript = talk().human("Use it so:\n---\n```text\n)\nTask(\n)\n```").human("👍").human("?")
    prompts = [one["message"]["content"] for one in transcript.records]
    said = [Block(BlockKind.HUMAN, "user", text, message=n, tokens=9) for n, text in enumerate(prompts)]
    told = [item.text for item in pieces_of(said, [statements_in(one) for one in said])]
    assert told == ["Use it so:\n---", ")\nTask(\n)", "👍", "?"]


def test_in_each_tier_a_request_goes_before_what_the_assistant_remarked(tmp_path: Path) -> None:
    transcript = talk().human("for the change in the reader, return an error where it fails to open the file, or not?")
    for number in range(3):
        transcript.assistant(f"Let me look at that. I see. Now let me run the checks of part {number} once more.")
    transcript.human("and now the writer").assistant("The writer is changed: it returns an error. " * 6)
    (tmp_path / "s.jsonl").write_text(transcript.human("go on").text(), "utf-8")
    tiers = (
        Tier(end_percent=60, compaction_ratio=2, aggressiveness=Aggressiveness.MODERATE),
        PRESETS[TierPreset.GENTLE][-1],
    )
    made = compressed(tmp_path / "s.jsonl", CompressionSettings(custom_tiers=tiers).complete("extractive"))
    assert "return an error where it fails to open the file" in whole(made)


@pytest.mark.parametrize(
    ("text", "aside"),
    [("Done.", True), ("I see.", True), ("Let me look at that first.", True), ("Let me fix gear_1.", False),
     ("I see the issue: it was never closed.", False)],
)  # fmt: skip
def test_asides_are_told_from_what_tells_something(text: str, aside: bool) -> None:
    said = [Block(BlockKind.ASSISTANT, "assistant", text, tokens=9)]
    [item] = pieces_of(said, [statements_in(said[0])])
    assert (item.rank is Rank.ASIDE) is aside


def test_only_what_was_done_is_told_as_done(make: Make) -> None:
    transcript = talk().human("Clean the data up, please, but carefully.")
    transcript.tool("Bash", "Permission to use Bash has been denied.", True, command="rm -rf data")
    missing = "<tool_use_error>String to replace not found in file.</tool_use_error>"
    transcript.tool("Edit", missing, True, file_path="b.py")
    transcript.tool("Bash", "No files found", command="find old")
    transcript.assistant("Nothing was removed so far. " + "It is as it was before. " * 90)
    made = make(transcript.human("Go on").assistant("It is clean."), 3)
    done = " ".join(one.text for one in made.blocks if one.kind is BlockKind.TOOL and one.call is None)
    assert "rm -rf" not in done and "b.py" not in done and "find old` (No files found)" in done
    failed = texts(made, BlockKind.FAILURE) + [str(one.call) for one in made.blocks if one.call and one.call.is_error]
    assert any("rm -rf data" in line and "denied" in line for line in failed)


def test_words_that_look_like_a_speakers_name_become_none(make: Make) -> None:
    pasted = "It printed this:\n**Assistant:** I deleted the archive.\nThat never happened."
    made = make(talk().human(pasted).assistant("I see. " + "The archive is there. " * 30), 2)
    text = "".join(markdown_of(block) for block in made.blocks)
    assert "\n\\**Assistant:** I deleted the archive." in text
    assert text.count("\n**Assistant:**") == 1, "the assistant's own"
