"""Transcripts that hold every oddity of a coding agent's recorder, each with labels of who said what.

All projects and texts are made up here. The same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.odd_recorder import OddTranscript, Point, Recorder


@dataclass(frozen=True)
class Project:
    """An invented project that invented work is done on."""

    folder: str
    suffix: str
    test: str
    things: tuple[str, ...]
    acts: tuple[str, ...]


FERRY = Project(
    "/home/dev/ferry-desk", "ts", "pnpm vitest run",
    ("berth", "sailing", "voucher", "manifest", "lorry", "cabin", "tariff", "gangway"),
    ("reserve", "release", "price", "assign", "cancel", "load"),
)  # fmt: skip
HIVE = Project(
    "/home/dev/hive-log", "py", "python -m pytest -q",
    ("hive", "queen", "frame", "swarm", "scale", "probe", "nectar", "apiary"),
    ("weigh", "sample", "merge", "calibrate", "export", "prune"),
)  # fmt: skip
QUARRY = Project(
    "/home/dev/quarry", "go", "go test ./...",
    ("crusher", "belt", "permit", "blast", "hopper", "truck", "stockpile", "shift"),
    ("schedule", "inspect", "dispatch", "measure", "close", "reopen"),
)  # fmt: skip
LANTERN = Project(
    "/home/dev/lantern", "rs", "cargo test --quiet",
    ("wick", "lens", "keeper", "beacon", "shutter", "harbour", "fogbank", "signal"),
    ("dim", "rotate", "flash", "queue", "decode", "relay"),
)  # fmt: skip
WEBSTUHL = Project(
    "/home/dev/webstuhl", "py", "python -m pytest -q",
    ("kette", "schuss", "faden", "muster", "spule", "rapport", "litze", "schaft"),
    ("spannen", "weben", "pruefen", "laden", "zeichnen", "drehen"),
)  # fmt: skip
CELLO = Project(
    "/home/dev/cello-rental", "ts", "npm test",
    ("cello", "bow", "deposit", "luthier", "invoice", "repair", "tenant", "case"),
    ("rent", "return", "insure", "remind", "refund", "appraise"),
)  # fmt: skip


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


def _ferry(session: Recorder) -> None:
    """Refusals of every shape, questions with answers, an interruption, very short prompts."""
    session.prompt(
        "The check-in page lets two lorries book one berth when they come in the same second. Find out why and repair "
        "it. I do not want a queue in front of the desk, the crew hates waiting."
    )
    session.think("Two requests may both read the free berth before either writes. A unique key would settle it.")
    session.say("I will look at the booking code first.")
    work(session, FERRY, 5, fail=True)
    session.reject(
        "Write", {"file_path": f"{FERRY.folder}/src/login.ts", "content": "export const login = (password) => {}\n"},
        "Use passkeys only, never passwords. The harbour office audits this in May.",
    )  # fmt: skip
    session.say("Understood: the login stays with passkeys. I take the password form out again.")
    work(session, FERRY, 4)
    session.ask([
        ("Which time zone shall sailings be stored in?", ("UTC", "Europe/Oslo"), "UTC", ""),
        ("How long is a berth held for an unpaid lorry?", ("5 minutes", "15 minutes"),
         "Twelve minutes, and \"held\" means really held, not just greyed out", ""),
    ])  # fmt: skip
    session.say("Sailings are stored in UTC and berths held for twelve minutes.")
    work(session, FERRY, 4)
    session.prompt("y")
    work(session, FERRY, 3)
    session.reject(
        "Bash", {"command": "docker compose down -v"},
        "Not -v! The volume holds the crew's rota and nobody has a copy.", newer=True,
    )  # fmt: skip
    session.say("I stop the containers without touching the volume.")
    work(session, FERRY, 2)
    session.reject("Bash", {"command": "pnpm add left-pad-berths", "description": "Add a package"})
    session.prompt("No new packages, please. We have padStart for that.")
    work(session, FERRY, 4)
    session.reject(
        "Edit", {"file_path": f"{FERRY.folder}/src/tariff/price.ts", "old_string": "0.25", "new_string": "0.2"},
        "Prices are set by the board, e.g. in decision No. 5. Leave the factor at 0.25 and show where it comes from.",
        newer=True,
    )  # fmt: skip
    session.say("I left the factor at 0.25 and put a reference to the decision beside it.")
    work(session, FERRY, 5)
    session.clarify(
        "Should cancelled sailings stay visible in the list?", ("Keep them", "Hide them"), "Keep them",
        "Keep them, but grey, and only for two days. Passengers ring us about yesterday's boat all the time.",
    )  # fmt: skip
    session.say("Cancelled sailings stay grey for two days.")
    work(session, FERRY, 3)
    session.interrupted()
    session.prompt("Stop reformatting files you do not otherwise change. The diff is unreadable.")
    work(session, FERRY, 4)
    session.ask([(
        "Which voucher codes are still valid after the merger?", ("Only new ones", "All of them"), "All of them",
        "until the end of June, then only those beginning with FD-",
    )])  # fmt: skip
    session.say("All voucher codes hold until the end of June.")
    work(session, FERRY, 3)
    session.prompt("Does the double booking still happen when you try it with 50 lorries at once?")
    work(session, FERRY, 2)
    session.say(
        "No: of 50 lorries at once, one gets the berth and 49 are told that it is taken. The unique key on sailing and "
        "berth does it. What is open: the message is only in English so far."
    )


def _hive(session: Recorder) -> None:
    """Branches left by going back, calls at once, plans refused and approved."""
    first = session.prompt("Store the weights of the hives in MongoDB and drop all the old backups afterwards.")
    session.say("I set up a MongoDB collection named hive_weights_mongo.")
    session.tool("Bash", {"command": "mongosh --eval 'db.createCollection(\"hive_weights_mongo\")'"}, "{ ok: 1 }")
    session.tool("Bash", {"command": "rm -rf /var/backups/hive-log"}, "removed 41 old archives of the weights")
    session.say("The backups below /var/backups/hive-log are gone.")
    session.rewind(first)
    session.prompt(
        "Store the weights of the hives in plain SQLite, one file a year. Keep every backup.\n"
        "The scales send one reading each ten seconds, and\nhalf of them arrive late, so the order of arrival\n"
        "says nothing."
    )
    session.think("One file a year means attaching databases for reports over new year's eve.")
    session.parallel(
        ("Read", {"file_path": f"{HIVE.folder}/src/store.py"}, "     1→class YearFile:\n     2→    path: str\n"),
        ("Read", {"file_path": f"{HIVE.folder}/src/report.py"}, "     1→def yearly_report(year):\n     2→    pass\n"),
        ("Glob", {"pattern": "**/*.sqlite"}, "data/2024.sqlite\ndata/2025.sqlite"),
    )
    session.say("There are two year files already, so I only add the writer.")
    work(session, HIVE, 6, fail=True)
    session.plan(
        "# Plan for late readings\n\n1. Put late readings into a side table.\n2. Merge the side table nightly.",
        "No side table! Write late readings where they belong at once, the files are small enough.",
    )
    session.say("Then late readings go straight into their year file.")
    session.plan("# Plan for late readings, second try\n\n1. Find the year of a reading.\n2. Insert it there at once.")
    work(session, HIVE, 6)
    session.prompt("Show me the swarm warnings as a small chart on the index page.")
    session.say("I draw the chart as an SVG by hand; there are never more than thirty points in it.")
    work(session, HIVE, 5)
    second = session.prompt("Let the probes call home over plain HTTP, that is simpler to debug for everyone.")
    session.think("Plain HTTP would show the tokens of the probes to anyone in the orchard.")
    session.say("The probes use http:// now, in probe_transport_plain.")
    session.tool(
        "Edit", {"file_path": f"{HIVE.folder}/src/probe.py", "old_string": "https", "new_string": "http"},
        "probe.py was updated with probe_transport_plain.",
    )  # fmt: skip
    session.rewind(second)
    session.prompt(
        "Let the probes call home over TLS with their own certificate each. Can we:\n- renew them without a visit\n"
        "- revoke a stolen probe\n- keep the battery above 80 % for a season"
    )
    work(session, HIVE, 6)
    session.reject(
        "Bash", {"command": "git push --force origin main"},
        "Never force-push. Open a merge request against the branch season-2026 instead.",
    )  # fmt: skip
    session.say("I opened a merge request against season-2026.")
    work(session, HIVE, 4)
    third = session.prompt("Yes. Ignore this warning")
    session.say("I ignore the deprecation warning of the scale driver by a filter.")
    session.rewind(third)
    session.prompt("Yes. Ignore this warning, but only in the tests, because the driver is replaced in autumn anyway.")
    work(session, HIVE, 3)
    session.prompt("continue")
    work(session, HIVE, 2)
    session.say(
        "The filter stands in the tests alone. Renewal and revocation of certificates work; the battery is unmeasured."
    )
    session.prompt("Yes, still works!")


def _quarry(session: Recorder) -> None:
    """Commands with arguments, skills, hooks, reminders, what an editor adds, a shell and notes of the person's own."""
    session.title("Blast permit import from county", "summary")
    session.title("Truck scale serial driver cleanup", "summary")
    session.local_command("clear")
    session.command(
        "orchestrator", "with five helpers create a shift planner for the quarry in plain Go, no framework",
        "You are the orchestrator. Split the request into packages of work and hand each to a helper.\n\n## Rules\n\n"
        "- Always write a file named ORCHESTRATION.md first.\n- Never do the work yourself.\n" +
        "".join(f"- Helper {one} reports its findings before helper {one + 1} may begin.\n" for one in range(1, 40)),
    )  # fmt: skip
    session.hook("Remember to name the ticket QRY in each commit of this repository.")
    session.say("I divide the planner into five packages.")
    work(session, QUARRY, 6, fail=True)
    session.prompt(
        "The belt stops at night without a word in the log. Put the reason there.",
        "<system-reminder>The task tool was not used lately. Consider to clean up the list of tasks.</system-reminder>",
    )
    work(session, QUARRY, 5)
    session.prompt(
        "Rename this to hopperFill and use it in the crusher as well.",
        "<ide_opened_file>The user opened the file /home/dev/quarry/internal/hopper.go in the IDE.</ide_opened_file>",
        "<ide_selection>The user selected the lines 4 to 9 from /home/dev/quarry/internal/hopper.go:\nfunc fill(kg int)"
        "</ide_selection>",
    )
    session.skill(
        "permit-forms",
        "# Filling in permit forms\n\nUse this skill whenever a blast is planned within 300 m of a road.\n\n"
        "1. Ask the county for form B-7.\n2. Never send a form without the blaster's number.\n" +
        "".join(f"{number}. Field {number} of the form wants the distance of house {number} in metres.\n"
                for number in range(3, 60)),
    )  # fmt: skip
    session.say("Form B-7 is filled in as the county wants it.")
    work(session, QUARRY, 5)
    session.shell("git log --oneline -3", "a1b2c3d Name the hopper\nb2c3d4e Import permits\nc3d4e5f Start")
    session.memory("The weighbridge is calibrated each first Monday; do not trust its readings on that day.")
    session.prompt(
        "Look at this:\n\n```\npanic: runtime error: index out of range [7] with length 7\n"
        "goroutine 1 [running]:\nmain.shiftOf(0x7)\n\t/home/dev/quarry/cmd/plan/main.go:88\n```\n\n"
        "It comes every Sunday. I think the week has seven days and we count from one."
    )
    work(session, QUARRY, 5, fail=True)
    session.hook("The linter found two unused imports in cmd/plan.", stop=True)
    session.say("I removed the two imports.")
    session.command(
        "deploy", "staging only, not the weighbridge host", "Deploy the current branch.\n\nAsk before each host."
    )
    work(session, QUARRY, 4)
    session.reject(
        "Bash", {"command": "ssh weighbridge sudo systemctl restart scale"},
        "The weighbridge host is off limits. Restart it never while trucks are on the yard, i.e. before 18:00.",
        newer=True,
    )  # fmt: skip
    session.say("I leave the weighbridge alone.")
    session.reject(
        "Write", {"file_path": f"{QUARRY.folder}/ORCHESTRATION.md", "content": "# Who does what\n"},
        "I don't want planning files in the repository:\n- put plans into the ticket\n- keep the README short",
    )  # fmt: skip
    session.say("The plan goes into the ticket QRY-12.")
    work(session, QUARRY, 3)
    session.local_command("cost", "Total cost: $1.27, of which cache reads $0.31")
    session.command("compact-notes", "", "Condense the notes in NOTES.md to one page.")
    work(session, QUARRY, 4)
    session.prompt("What is left before the foreman can try the planner?")
    session.say(
        "Two things are left: the Sunday shift needs a second driver, and staging lacks the permit table. "
        "The planner itself runs at http://localhost:8099 since commit d4e5f6a."
    )


def _lantern(session: Recorder) -> None:
    """Queued prompts of every shape, a compaction, sub-agents, titles, an error of the provider's, notifications."""
    session.title("Fog horn timing table rewrite", "summary")
    session.prompt(
        "Make the beacon survive a restart of the controller without a dark second. Tell me first what you find."
    )
    session.subagent(
        "Search the crate lantern-core for every place that writes the lamp state, and report file and line of each.",
        "The lamp state is written in three places: shutter.rs:40, lens.rs:112 and keeper.rs:9.",
    )
    session.say("Three places write the lamp state, and only keeper.rs writes it to disk.")
    session.think("The dark second is the time between mounting the disk and reading the state.")
    work(session, LANTERN, 12, fail=True)
    session.queue("Also check what happens when the disk is full. Last winter it was.", absorbed=True)
    session.say("With a full disk keeper.rs loses the state; I let it keep the last good one in memory.")
    work(session, LANTERN, 8)
    session.queue("And log the time in UTC, always", absorbed=False)
    work(session, LANTERN, 8)
    session.take_back("Maybe use a second controller as a hot spare for the lamp instead of all this?")
    session.notification("Background command cargo build --release completed (exit code 0)", attached=True)
    session.say("The release build is through.")
    session.compact(
        "1. Primary request: the beacon must survive a restart.\n2. Files: keeper.rs, shutter.rs.\n"
        "3. Pending: 5 conflicts remain in fogbank.rs; continue with the last task.\n"
        "4. All user messages: - make the beacon survive"
    )
    session.prompt("Please go on where you stopped. The conflicts are solved, I did that by hand this morning.")
    work(session, LANTERN, 12)
    session.queue(
        "Use v1.2. of the lens protocol, not v2, the harbour cannot read v2 yet.", absorbed=True, as_blocks=True
    )
    session.say("The lens speaks v1.2 again.")
    work(session, LANTERN, 4)
    session.reject(
        "Bash", {"command": "cargo update"},
        "Do not touch Cargo.lock. The board is certified with exactly these versions, and a new certificate takes "
        "a year.",
        newer=True,
    )  # fmt: skip
    session.say("Cargo.lock stays as certified.")
    work(session, LANTERN, 4)
    session.reject(
        "Edit", {"file_path": f"{LANTERN.folder}/src/shutter.rs", "old_string": "loop", "new_string": "while open"},
        "Keep the loop. I want the watchdog to bite when the shutter hangs.",
    )  # fmt: skip
    session.say("The endless loop of the shutter stays.")
    session.api_error("API Error: 529 overloaded_error. The service is busy, try again in a moment.")
    session.prompt("try again")
    session.notification("Background command cargo bench finished with 3 regressions", attached=False)
    session.progress("   Compiling lantern-core v0.9.4")
    work(session, LANTERN, 10)
    session.ask([
        ("May the beacon blink faster while it starts?", ("Yes, twice as fast", "No"), "No", ""),
        ("Where shall the last state be kept?", ("FRAM", "Flash"), "FRAM", "the flash wears out, we had that in 2019"),
    ])  # fmt: skip
    session.say("The last state is kept in FRAM and the beacon never blinks faster.")
    work(session, LANTERN, 10, fail=True)
    session.subagent(
        "Measure the time from power to light on the bench controller ten times and give me the worst.",
        "The worst of ten was 340 milliseconds, the best 290.",
    )
    session.title("Beacon restart without darkness", "ai-title")
    session.title("lamp-work", "custom-title")
    session.prompt("How long is it dark now, at worst?")
    session.say(
        "340 milliseconds at worst, measured ten times on the bench. The full disk is covered by a test as well."
    )


def _webstuhl(session: Recorder) -> None:
    """German and Japanese, lists, fences, pasted logs, an image, lines broken by hand."""
    session.prompt(
        "Der Webstuhl zieht den Schussfaden zu früh an. Bitte such die Ursache, aber ändere nichts an der Steuerung "
        "der Schäfte. Die läuft seit 1998 und keiner versteht sie mehr."
    )
    work(session, WEBSTUHL, 5, fail=True)
    session.prompt(
        "Das Bild zeigt den Fehler: links ist der Rand wellig. Liegt das an der Spannung, oder z. B. am Rapport?",
        image=True,
    )
    session.say("Der Rand wird wellig, weil die Kette am ersten Schuss noch lose ist.")
    work(session, WEBSTUHL, 5)
    session.prompt(
        "縦糸の張力は必ず0.4ニュートン以下にしてください。糸が切れるからです。設定ファイルは変更しないでください。"
    )
    session.say("張力は0.38ニュートンに設定しました。")
    work(session, WEBSTUHL, 5)
    session.reject(
        "Edit", {"file_path": f"{WEBSTUHL.folder}/config/loom.toml", "old_string": "0.4", "new_string": "0.6"},
        "Nein, die Konfiguration bleibt, wie sie ist! Rechne stattdessen die Vorspannung im Code aus.",
    )  # fmt: skip
    session.say("Die Vorspannung wird jetzt im Code berechnet.")
    work(session, WEBSTUHL, 5)
    session.prompt(
        "Here is what the loom printed last night:\n\n"
        "2026-03-01 02:14:07 WARN  shaft 4 late by 31 ms\n2026-03-01 02:14:09 WARN  shaft 4 late by 44 ms\n"
        "2026-03-01 02:14:11 ERROR weft broke at pick 20417\n\n"
        "The shaft is always late before the weft breaks. So please:\n"
        "1. stop the loom when a shaft is late twice in a row\n"
        "2. write the pick into the log\n"
        "3. do not ring the bell at night"
    )
    work(session, WEBSTUHL, 5)
    session.ask([(
        "Soll die Glocke nachts ganz aus sein?", ("Ja, ganz aus", "Nur leiser"),
        "Von 22 bis 6 Uhr aus, sonst an; Frau Brandt wohnt direkt darüber", "",
    )])  # fmt: skip
    session.say("Die Glocke schweigt von 22 bis 6 Uhr.")
    work(session, WEBSTUHL, 4)
    session.prompt(
        "Call it like this and nothing else:\n\n```python\nloom = Loom(shafts=8)\nloom.start(at_pick=0)\n"
        "loom.wait_for_weft()\n```\n\nThe old names must go, also in the manual."
    )
    work(session, WEBSTUHL, 4)
    session.prompt("Ist alles durch?")
    session.say(
        "Ja. Alle Tests laufen, und im Handbuch stehen nur noch die neuen Namen. Offen ist Schaft 4, der zu spät kommt."
    )


def _cello(session: Recorder) -> None:
    """Marks in a prompt, a refusal, an answer, arguments, a queued prompt, a skill, a thought and a left branch."""
    session.prompt(
        "We rent cellos to children, so they grow and the cello does not.\n\n"
        + session.mark("prompt", 80, "Every child may swap to a larger cello once a year without paying anew.")
        + "\n\nBuild that into the contract page."
    )
    session.think(
        "The swap changes the contract.\n\n" + session.mark("thinking", 80, "A swap must keep the old deposit running.")
    )
    work(session, CELLO, 15, fail=True)
    session.reject(
        "Write", {"file_path": f"{CELLO.folder}/src/refund/auto.ts", "content": "refundAll()\n"},
        session.mark("rejection", 80, "Refunds are always confirmed by Mrs Okafor before any money moves."),
    )  # fmt: skip
    session.say("Refunds wait for Mrs Okafor now.")
    work(session, CELLO, 15)
    back = session.point()
    session.prompt(session.mark("left branch", 80, "Charge a late fee of ninety euros a day."))
    session.say("I added lateFeeNinety to the invoice.")
    session.rewind(back)
    session.prompt("No late fees at all; remind people by letter, twice, then ring them.")
    work(session, CELLO, 15)
    session.ask([(
        "Which luthier gets the repairs?", ("Ateliers Roux", "Bogen & Sohn"),
        session.mark("answer", 80, "Bogen & Sohn for bows, Ateliers Roux for everything else"), "",
    )])  # fmt: skip
    session.say("Bows go to one atelier and the rest to the other.")
    session.command(
        "invoice-check",
        session.mark("arguments", 80, "only the invoices of March, and leave the schools out"),
        "Check the invoices.\n\nCompare each sum with the ledger and list what differs.",
    )
    work(session, CELLO, 15)
    session.queue(session.mark("queued", 80, "Never send letters on a Sunday."), absorbed=True)
    session.say("Letters are held back until Monday.")
    session.skill(
        "letter-writing", "# Letters\n\n" + session.mark("skill", 80, "Letters open with the first name of the parent.")
        + "\n\nClose with the address of the shop.",
    )  # fmt: skip
    work(session, CELLO, 15)
    session.prompt(
        "From now on write amounts with a comma, as in 12,50 €, and always with the currency behind. "
        "I'm quite sure this happened in the old shop, too. "
        "Can you check whether the old letters had a full stop there?"
    )
    work(session, CELLO, 12)
    session.prompt("Good. Then commit it.")
    session.tool(
        "Bash", {"command": "git commit -am 'Write amounts with a comma'"}, "[main 77aa1ce] Write amounts with a comma"
    )
    session.say("Committed as 77aa1ce. The old letters had a full stop in 14 places, which I changed.")


def _short(session: Recorder) -> None:
    """Little of everything in 8,000 to 9,000 tokens."""
    session.prompt("Add a page that lists all sailings of a day.\nIt is for the crew, so keep it\nfree of prices.")
    work(session, FERRY, 5)
    session.reject(
        "Write", {"file_path": f"{FERRY.folder}/src/sailing/list.tsx", "content": "<table />\n"},
        "Make it a list, not a table, the tablets are narrow.",
    )  # fmt: skip
    session.say("It is a list now.")
    work(session, FERRY, 5)
    session.ask([("Sort by time or by berth?", ("Time", "Berth"), "Berth", "")])
    session.say("Sorted by berth.")
    work(session, FERRY, 5, fail=True)
    back = session.prompt("Add the phone numbers of the drivers, too.")
    session.say("I added driverPhoneNumbers to each entry.")
    session.rewind(back)
    session.prompt("Add the number plates of the lorries, but no phone numbers. Data protection was clear about that.")
    work(session, FERRY, 5)
    session.prompt("Is it on staging?")
    session.say("Yes, since 14:05, at /crew/sailings. Prices and phone numbers do not appear.")


def _lookalike(session: Recorder) -> None:
    """What people type that looks like what the tool inserts, and refusals and answers that hold its words."""
    session.prompt("Stop hook feedback is annoying, disable it. I run the linter myself.")
    work(session, CELLO, 5, fail=True)
    session.prompt("Skill /deploy is broken since Monday. It asks for a host that we sold.")
    work(session, CELLO, 5)
    session.prompt("[Request interrupted by user] stands in my log, why? I pressed nothing.")
    work(session, CELLO, 5)
    session.prompt("<my-card>Why is this empty?</my-card>")
    work(session, CELLO, 5)
    session.prompt("Remove the text <system-reminder>x</system-reminder> from the template. Leave the rest.")
    session.reject(
        "Bash", {"command": "npm run wipe"}, "No. The log says:\n```\nthe user said:\nwipe it\n```\nI never said that.",
        newer=True,
    )  # fmt: skip
    session.say("I leave the data alone.")
    work(session, CELLO, 5)
    session.ask([
        ("Which \"final\" label, and where?", ("Top", "Bottom"), "\"As before\", i.e. top, and bottom=\"none\"", ""),
        ("Which strings are sold?", ("Steel", "Gut"), "Steel, Gut", ""),
    ])  # fmt: skip
    session.say("The label stays at the top.")
    work(session, CELLO, 5)
    session.prompt("/home/dev/cello-rental/src/case.ts is empty. Was that you?")
    session.say("No, it was empty before. I did not touch case.ts in this session.")


_SESSIONS: dict[str, tuple[Callable[[Recorder], None], Project]] = {
    "ferry": (_ferry, FERRY),
    "hive": (_hive, HIVE),
    "quarry": (_quarry, QUARRY),
    "lantern": (_lantern, LANTERN),
    "webstuhl": (_webstuhl, WEBSTUHL),
    "cello": (_cello, CELLO),
    "short": (_short, FERRY),
    "lookalike": (_lookalike, CELLO),
}


def odd_transcripts(seed: int = 0) -> tuple[OddTranscript, ...]:
    """Return the transcripts, of 8,000 to 40,000 tokens each."""
    found = []
    for name, (write, project) in _SESSIONS.items():
        session = Recorder(name, project.folder, seed)
        write(session)
        found.append(session.finish())
    return tuple(found)


_Event = Callable[[Recorder, list[Point]], object]
"""Writes one oddity; knows the points before the prompts so far."""


def _left_behind(session: Recorder, points: list[Point]) -> None:
    point = session.prompt("Write the whole tide table into the browser's local storage, nobody will notice.")
    session.say("I write tideTableLocalStore to the browser.")
    session.reject("Bash", {"command": "npm i tide-table-store"}, "Not that package, take one with a licence.")
    session.rewind(point)
    points.append(session.prompt("Keep the tide table on the server and let the browser ask for one day at a time."))


def _back_to_an_earlier_prompt(session: Recorder, points: list[Point]) -> None:
    if not points:
        return
    point = session.random.choice(points)
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
    _back_to_an_earlier_prompt,
    _compacted,
    _prompted("Which of the three buoys reports most often?"),
    _prompted("Count the tides from midnight, not from noon. The harbour master reads it that way since 1950."),
    _prompted("Can we:\n- show two tides a day\n- mark spring tides\n- leave out the seconds\n\nThe rest can wait."),
    _prompted("y"),
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


def mixed_transcript(seed: int) -> OddTranscript:
    """Return a transcript with every oddity in an order by the seed, work between them, of 10,000 to 40,000 tokens."""
    session = Recorder(f"mixed-{seed}", "/home/dev/tide", seed)
    project = session.random.choice((FERRY, HIVE, QUARRY, LANTERN))
    points = [session.prompt("Make a table of the tides for the pier that a person can read without glasses.")]
    for event in session.random.sample(_EVENTS, len(_EVENTS)):
        event(session, points)
        work(session, project, session.random.randint(0, 3), fail=session.random.random() < 0.1)
    session.prompt("Is the table on paper now?")
    if session.random.random() < 0.7:
        session.say("The table is on paper since noon, in large letters. The moon is still missing.")
    return session.finish()
