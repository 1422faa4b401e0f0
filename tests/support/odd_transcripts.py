"""Transcripts that hold every oddity of a coding agent's recorder, each with labels of who said what.

All projects and texts are made up here. The same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.odd_recorder import OddTranscript, Point, Recorder


@dataclass(frozen=True)
class Project:
    folder: str
    suffix: str
    test: str
    things: tuple[str, ...]
    acts: tuple[str, ...]


HIVE = Project(
    "/home/dev/hive-log", "py", "python -m pytest -q",
    ("hive", "queen", "frame", "swarm", "scale", "probe", "nectar", "apiary"),
    ("weigh", "sample", "merge", "calibrate", "export", "prune"),
)  # fmt: skip
LANTERN = Project(
    "/home/dev/lantern", "rs", "cargo test --quiet",
    ("wick", "lens", "keeper", "beacon", "shutter", "harbour", "fogbank", "signal"),
    ("dim", "rotate", "flash", "queue", "decode", "relay"),
)  # fmt: skip
CELLO = Project(
    "/home/dev/cello-rental", "ts", "npm test",
    ("cello", "bow", "deposit", "luthier", "invoice", "repair", "tenant", "case"),
    ("rent", "return", "insure", "remind", "refund", "appraise"),
)  # fmt: skip


def begun(name: str, *, rounds: int = 6) -> Recorder:
    """Return a session in which a person has asked for some things."""
    session = Recorder(name, HIVE.folder, rounds)
    for number in range(rounds):
        session.prompt(f"Check how the {HIVE.things[number]} is counted, and write down what you find in NOTES.md.")
        work(session, HIVE, 4)
        session.say(f"The {HIVE.things[number]} is counted once. I wrote that down in NOTES.md.")
    return session


def work(session: Recorder, project: Project, steps: int, *, fail: bool = False) -> None:
    """Let the assistant read, search, edit and test; ``fail``: the first run of the tests fails."""
    for number in range(steps):
        session.steps += 1
        _step(session, project, session.random.choice(("read", "search", "edit", "edit")))
        if number % 3 == 2 or number == steps - 1:
            _run_tests(session, project, fail=fail)
            fail = False


def _step(session: Recorder, project: Project, what: str) -> None:
    thing, act = session.random.choice(project.things), session.random.choice(project.acts)
    name, path = (
        f"{act}_{thing}_{session.steps}",
        f"{project.folder}/src/{thing}/{act}_{session.steps}.{project.suffix}",
    )
    if what == "read":
        session.say(session.random.choice((
            f"Let me look at how {name} is called.", f"I want to see {name} before I change anything.",
            f"First I read {act}_{session.steps}.{project.suffix}, since {name} lives there.",
        )))  # fmt: skip
        lines = "".join(f"{number:>6}→{line}\n" for number, line in enumerate(_code(session, name, thing, 40), 1))
        session.tool("Read", {"file_path": path}, lines)
    elif what == "search":
        found = "\n".join(f"src/{one}/{act}_{session.steps + 1}.{project.suffix}:{session.random.randint(3, 400)}:"
                          f"    {name}({one}_id)" for one in project.things)  # fmt: skip
        session.tool("Grep", {"pattern": name, "path": project.folder, "output_mode": "content"}, found)
        session.say(f"{name} has {len(project.things)} callers. The one in {project.things[0]} passes no id.")
    else:
        old, new = _code(session, name, thing, 6), _code(session, name, thing, 8)
        session.tool(
            "Edit", {"file_path": path, "old_string": "\n".join(old), "new_string": "\n".join(new)},
            f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet:\n" + "\n".join(new),
        )  # fmt: skip
        session.say(session.random.choice((
            f"{name} now returns early when the {thing} is gone. The callers stay as they are.",
            f"I moved the check of the {thing} into {name}. It saves {session.random.randint(2, 90)} lines elsewhere.",
            f"The limit of {name} is {session.random.randint(10, 900)} now, because the old one was never reached.",
        )))  # fmt: skip


def _code(session: Recorder, name: str, thing: str, count: int) -> list[str]:
    body = [f"def {name}({thing}, limit={session.random.randint(2, 99)}):"]
    for _ in range(count - 2):
        number = session.random.randint(100, 9999)
        body.append(session.random.choice((
            f"    {thing}_{number} = {thing}.lookup({number})", f"    if {thing}.state == {number}:",
            f"        {thing}.emit('{name}', code={number})", f"    total += {thing}.weight * {number}",
            f"    # the {thing} of {number} is counted twice upstream",
        )))  # fmt: skip
    return [*body, "    return total"]


def _run_tests(session: Recorder, project: Project, *, fail: bool) -> None:
    command = f"{project.test} --shard {session.steps}"
    log = [f"[{session.random.randint(0, 59):02d}.{session.random.randint(0, 999):03d}] {act} {thing}: ok in "
           f"{session.random.randint(1, 800)} ms" for thing in project.things for act in project.acts[:3]]  # fmt: skip
    if fail:
        thing = session.random.choice(project.things)
        error = f"AssertionError: {thing}_{session.steps} expected {session.steps + 3}, got {session.steps}"
        text = "Exit code 1\n" + "\n".join([*log[:9], error, *log[9:], f"1 failed, {len(log)} passed"])
        session.tool("Bash", {"command": command, "description": "Run the tests"}, text, error=error)
        session.say(
            f"The test of {thing}_{session.steps} fails: the counter starts at nought there. I set it anew first."
        )
    else:
        log.append(f"{len(log) + session.steps} passed in {session.random.randint(2, 70)} s")
        session.tool("Bash", {"command": command, "description": "Run the tests"}, "\n".join(log))
        session.say(f"All {len(log) - 1 + session.steps} tests of shard {session.steps} pass.")


_SEVERAL = 4
_Event = Callable[[Recorder, list[Point]], object]
"""Writes one oddity; knows the points before the prompts so far."""


def _left_behind(session: Recorder, points: list[Point]) -> None:
    point = session.prompt("Write the whole tide table into the browser's local storage, nobody will notice.")
    session.say("I write tideTableLocalStore to the browser.")
    session.reject("Bash", {"command": "npm i tide-table-store"}, "Not that package, take one with a licence.")
    session.rewind(point)
    points.append(session.prompt("Keep the tide table on the server and let the browser ask for one day at a time."))


def _said_longer(session: Recorder, points: list[Point]) -> None:
    point = session.prompt("Yes. Ignore this warning")
    session.say("I ignore the deprecation warning of the gauge driver by a filter.")
    session.rewind(point)
    points.append(session.prompt("Yes. Ignore this warning, but only in the tests. The driver is replaced in autumn."))


def _marked_in_a_left_branch(session: Recorder, points: list[Point]) -> None:
    point = session.prompt(session.mark("left branch", 80, "Charge a late fee of ninety euros a day."))
    session.say("I added lateFeeNinety to the invoice.")
    session.rewind(point)
    points.append(session.prompt("No late fees at all; remind people by letter, twice, then ring them."))


def _back_to_an_earlier_prompt(session: Recorder, points: list[Point]) -> None:
    if not points:
        return
    # One of the last ones, so that not too much is left.
    point = session.random.choice(points[-3:])
    session.rewind(point)
    del points[points.index(point) :]
    # A first prompt is said anew in much the same words; one in others cannot be told from a session that goes on.
    session.prompt(
        "Let us begin here once more: first the tide table alone, and nothing about the moon."
        if point.parent
        else "Make a table of the tides for the pier that a person can read without glasses, in two colours."
    )


def _compacted(session: Recorder, points: list[Point]) -> None:
    session.compact("1. The tide table was begun.\n2. Pending: the moon is missing in tide_moon.c.")
    points.clear()


def _prompted(text: str, *before: str, **how: bool) -> _Event:
    return lambda session, points: points.append(session.prompt(text, *before, **how))


_EVENTS: tuple[_Event, ...] = (
    _left_behind,
    _said_longer,
    _marked_in_a_left_branch,
    _back_to_an_earlier_prompt,
    _compacted,
    _prompted("Which of the three buoys reports most often?"),
    _prompted("Count the tides from midnight, not from noon. The harbour master reads it that way since 1950."),
    _prompted("Can we:\n- show two tides a day\n- mark spring tides\n- leave out the seconds\n\nThe rest can wait."),
    _prompted("y"),
    _prompted("Stop hook feedback is annoying, disable it. I run the linter myself."),
    _prompted("Skill /deploy is broken since Monday. It asks for a host that we sold."),
    _prompted("[Request interrupted by user] stands in my log, why? I pressed nothing."),
    _prompted("<my-card>Why is this empty?</my-card>"),
    _prompted("Remove the text <system-reminder>x</system-reminder> from the template. Leave the rest."),
    _prompted("/home/dev/tide/src/case.ts is empty. Was that you?"),
    _prompted("The gauges send one reading each ten seconds, and\nhalf of them arrive late, so the order of arrival\n"
              "says nothing. Find out why and repair it. I do not want a queue in front of them."),
    _prompted("縦糸の張力は必ず0.4ニュートン以下にしてください。糸が切れるからです。"
              "設定は変えないでください。"),
    _prompted("Here is what the loom printed last night:\n\n2026-03-01 02:14:07 WARN  shaft 4 late by 31 ms\n"
              "2026-03-01 02:14:11 ERROR weft broke at pick 20417\n\nThe shaft is always late first. So "
              "please:\n1. stop the loom when a shaft is late twice in a row\n2. write the pick into the log\n"
              "3. do not ring the bell at night"),
    _prompted("Call it like this and nothing else:\n\n```python\nloom = Loom(shafts=8)\nloom.start(at_pick=0)\n```\n\n"
              "The old names must go, also in the manual."),
    _prompted("From now on write amounts with a comma, as in 12,50 €, and always with the currency behind. I'm quite "
              "sure this happened in the old shop, too."),
    lambda session, _: session.prompt("We rent cellos to children, so they grow and the cello does not.\n\n"
        + session.mark("prompt", 80, "Every child may swap to a larger cello once a year without paying anew.")
        + "\n\nBuild that into the contract page."),
    lambda session, _: session.think(
        "It changes the contract.\n\n" + session.mark("thinking", 80, "A swap must keep the old deposit running.")),
    lambda session, _: session.reject("Write", {"file_path": "/home/dev/refund.ts", "content": "refundAll()\n"},
        session.mark("rejection", 80, "Refunds are always confirmed by Mrs Okafor before any money moves.")),
    lambda session, _: session.ask([("Which luthier gets the repairs?", ("Ateliers Roux", "Bogen & Sohn"),
        session.mark("answer", 80, "Bogen & Sohn for bows, Ateliers Roux for everything else"), "")]),
    lambda session, _: session.command("invoice-check",
        session.mark("arguments", 80, "only the invoices of March, and leave the schools out"),
        "Check the invoices.\n\nCompare each sum with the ledger and list what differs."),
    lambda session, _: session.queue(session.mark("queued", 80, "Never send letters on a Sunday."), absorbed=True),
    lambda session, _: session.skill("letter-writing", "# Letters\n\n"
        + session.mark("skill", 80, "Letters open with the first name of the parent.")
        + "\n\nClose with the address of the shop."),
    lambda session, _: session.command("orchestrator", "with five helpers create a shift planner in plain Go",
        "You are the orchestrator. Hand each part to a helper.\n\n## Rules\n\n"
        + "".join(f"- Helper {one} reports its findings before helper {one + 1} may begin.\n" for one in range(1, 40))),
    lambda session, _: session.reject("Write", {"file_path": "/home/dev/login.ts", "content": "export const login = 1"},
        "Use passkeys only, never passwords. The harbour office audits this in May."),
    lambda session, _: session.reject("Bash", {"command": "git push --force origin main"},
        "Never force-push. Open a merge request against the branch season-2026 instead.", newer=True),
    lambda session, _: session.reject("Bash", {"command": "docker compose down -v"},
        "Not -v! The volume holds the crew's rota, e.g. for May, and nobody has a copy."),
    lambda session, _: session.reject("Bash", {"command": "npm run wipe"},
        "No. The log says:\n```\nthe user said:\nwipe it\n```\nI never said that.", newer=True),
    lambda session, _: session.ask([
        ("Which \"final\" label, and where?", ("Top", "Bottom"), "\"As before\", i.e. top, and bottom=\"none\"", ""),
        ("Soll die Glocke nachts aus sein?", ("Ja", "Nur leiser"), "Von 22 bis 6 Uhr aus, sonst an", ""),
    ]),
    lambda session, _: session.clarify("Stay cancelled sailings visible?", ("Keep them", "Hide them"), "Keep them",
                                       "Keep them, but grey, and only for two days."),
    lambda session, _: session.queue("And log the time in UTC, always", absorbed=False),
    lambda session, _: session.local_command("clear"),
    lambda session, _: session.title("lamp-work", "custom-title"),
    _prompted("It prints this:\n\n```\nTIDE 04:12 3.1 m\nTIDE 16:40 NaN\n```\n\nWhere does the NaN come from? I saw it "
              "on Sunday, too."),
    _prompted("Die Tabelle soll auf eine Seite passen, z. B. mit kleinerer Schrift. Die Farben bleiben."),
    _prompted("This is how it looks on paper.", image=True),
    _prompted("Sort by height.", as_blocks=True),
    _prompted("Use the name of the selected function everywhere.", "<ide_selection>The user selected the lines 3 to 5 "
              "from /home/dev/tide.c:\nint high(void);</ide_selection>"),
    _prompted("And the units?", "<system-reminder>The list of tasks is empty. Do not tell.</system-reminder>"),
    lambda session, _: session.reject("Bash", {"command": "make flash"}, "Never flash buoys at sea. Wait for June."),
    lambda session, _: session.reject("Write", {"file_path": "/home/dev/moon.c", "content": "int moon;"},
                                      "No moon yet:\n- it needs the almanac\n- we have not bought it", newer=True),
    lambda session, _: session.reject("Bash", {"command": "rm -r out"}),
    lambda session, _: session.ask([("How many digits for heights?", ("One", "Two"), "One", ""),
                                    ("Which datum?", ("Chart", "Sea"), "Chart, as in \"Chart 12, 1987\"", "")]),
    lambda session, _: session.ask([("Print on A4 or A5?", ("A4", "A5"), "A5", "the holder there takes A5 only")]),
    lambda session, _: session.clarify("Is summer time shown?", ("Yes", "No"), "", "That depends, look it up."),
    lambda session, _: session.plan("# Plan for heights\n\n1. Read the gauge.\n2. Round to one digit."),
    lambda session, _: session.plan("# Plan for paper\n\n1. Buy a plotter.", "No plotter. We have a printer."),
    lambda session, _: session.command("chart", "only the northern pier, with the wind beside it", "Draw a chart.\n\n"
                                       "Use the house colours and nothing else."),
    lambda session, _: session.command("tidy", "", "Tidy the folder up.\n\nNever delete a chart."),
    lambda session, _: session.local_command("model", "Set model to the default one"),
    lambda session, _: session.skill("almanac", "# Reading almanacs\n\nOpen the almanac at the year's page first."),
    lambda session, _: session.hook("Commit messages of this folder begin with TIDE."),
    lambda session, _: session.hook("The formatter changed tide.c after your last edit.", stop=True),
    lambda session, _: session.queue("Also leave room for a stamp at the lower right.", absorbed=True),
    lambda session, _: session.queue("and keep the old file", absorbed=False),
    lambda session, _: session.queue("The stamp is round, 32 mm.", absorbed=True, as_blocks=True),
    lambda session, _: session.take_back("Perhaps we could sell the tide tables to the neighbouring harbour?"),
    lambda session, _: session.shell("lpstat -p", "printer pier is idle"),
    lambda session, _: session.memory("The printer at the pier eats every third sheet."),
    lambda session, _: session.parallel(("Read", {"file_path": "/home/dev/a.c"}, "     1→int a;"),
                                        ("Read", {"file_path": "/home/dev/b.c"}, "     1→int b;")),
    lambda session, _: session.subagent("Look through all gauges and list those that froze.",
                                         "Gauges 2 and 9 froze."),
    lambda session, _: session.title("Pier lamp flicker hunt"),
    lambda session, _: session.title("Tide table on paper", "ai-title"),
    lambda session, _: session.notification("Background command make watch completed (exit code 0)", attached=True),
    lambda session, _: session.notification("Background command make print failed with code 3", attached=False),
    lambda session, _: session.api_error("API Error: 500 internal server error from upstream"),
    lambda session, _: session.progress("  CC tide.o"),
    lambda session, _: session.interrupted(),
    lambda session, _: session.think("The NaN may come from a gauge that froze before the second high tide."),
)  # fmt: skip


def odd_transcript(seed: int, *, shallow: bool = False) -> OddTranscript:
    """Return a transcript with every oddity in an order by the seed, work between them, of 10,000 to 40,000 tokens.

    ``shallow``: whoever goes back leaves one prompt and no calls.
    """
    session = Recorder(f"odd-{seed}", "/home/dev/tide", seed)
    project = session.random.choice((HIVE, LANTERN, CELLO))
    points = [session.prompt("Make a table of the tides for the pier that a person can read without glasses.")]
    for event in session.random.sample(_EVENTS, len(_EVENTS)):
        if shallow and event in (_left_behind, _back_to_an_earlier_prompt):
            continue
        event(session, points)
        work(session, project, session.random.randint(0, 2), fail=session.random.random() < 0.1)
    session.prompt("Is the table on paper now?")
    # Now and then the person has the last word.
    if seed % 3:
        session.say("The table is on paper since noon, in large letters. The moon is still missing.")
    return session.finish()


def odd_transcripts(seed: int = 0) -> tuple[OddTranscript, ...]:
    """Return some, none of which is as those of another seed."""
    return tuple(odd_transcript(_SEVERAL * seed + number) for number in range(_SEVERAL))
