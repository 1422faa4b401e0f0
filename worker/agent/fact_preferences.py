"""The English ways to state what one likes, plans and does; with ``fact_identity``, all there are.

The first that fits decides, so the narrower stand before the wider.
"""

from __future__ import annotations

import re

from shared.text.words import content_stems, word_set
from worker.agent import fact_words as words
from worker.agent.fact_grammar import third_person, turned
from worker.agent.fact_identity import IDENTITIES
from worker.agent.fact_predicates import (
    FEW,
    IDENTITY,
    MORE,
    PREFERENCE,
    PROJECT,
    REST,
    SINCE,
    VENTURE,
    Predicate,
    among_favourites,
    bare,
    habit,
    i_state,
    in_hand,
    lasting_past,
    my_state,
)

_OF_THE_MIND = word_set(
    "thinking feeling wondering trying having getting waiting looking going being seeing meaning hoping"
)
_LIKING = (
    my_state(
        "my favourite colour is green",
        rf"(?P<what>(?:[\w-]+ )?favourite (?!is\b|are\b)[^,]{{1,60}}?) (?P<is>is|are) {REST}",
        lambda found, rest: f"'s {turned(found['what'])} {found['is'].lower()} {rest}",
        PREFERENCE,
    ),
    Predicate(
        "Ravel is my favourite composer",
        re.compile(
            r"^(?P<rest>[A-Z\"“][^,]{1,80}?|[a-z]+ing\b[^,]{0,60}?) (?P<is>is|are) (?:definitely |still |also "
            r"|really )?(?:one of )?my "
            r"(?:all[- ]time |absolute |personal |biggest |true )?(?P<what>favourite [^,]{1,40}?|passion"
            r"|(?:main )?(?:hobby|hobbies))$"
        ),
        among_favourites,
        PREFERENCE,
    ),
    my_state(
        "my main hobby is archery",
        rf"(?P<what>(?:main |biggest )?(?:hobby|hobbies|passion|passions|interests)) (?P<is>is|are|include) {REST}",
        "'s {what} {is} {rest}",
        PREFERENCE,
    ),
    i_state(
        "I like oak",
        rf"(?:do )?(?P<verb>love|like|enjoy|adore|prefer|hate|dislike|detest|loathe|despise|avoid)\s+{REST}",
        "{v} {rest}",
        PREFERENCE,
    ),
    i_state(
        "I care about wildlife",
        rf"(?P<verb>care about|believe in|value) (?!you\b){REST}",
        lambda found, rest: f"{third_person(found['verb'].split()[0])} {' '.join([*found['verb'].split()[1:], rest])}",
        PREFERENCE,
    ),
    i_state(
        "I do not like cilantro",
        rf"do not (?:really |particularly |even |usually )?(?P<verb>like|enjoy|eat|drink|smoke|use|watch|care for"
        rf"|own|drive|run|fly|cook|have(?= (?:an?|any) {FEW}(?:{words.THINGS}|{words.ANIMALS}|{words.KIN}))){MORE}",
        "does not {verb} {rest}",
        PREFERENCE,
    ),
    i_state(
        "I have always loved trains",
        rf"(?:have )?always (?:\w+ly )?(?P<verb>loved|enjoyed|hated|liked|preferred)\s+{REST}",
        "has always {verb} {rest}",
        PREFERENCE,
    ),
    i_state("I would rather walk", rf"would (?P<verb>rather|prefer) {REST}", "would {verb} {rest}", PREFERENCE),
)
_DOING = (
    i_state(
        "I use Postgres at work",
        rf"(?P<verb>use|code in|program in|develop in)\s(?!for\b|to\b|in\b|with\b|as\b|an? (?-i:[a-z])|my\b"
        rf"|print\b|some\b|the\b){REST}",
        lambda found, rest: f"{'uses' if found['verb'].lower() == 'use' else 'codes in'} {rest}",
        PREFERENCE,
    ),
    i_state(
        "I am using Rails 8",
        r"am (?:currently )?using (?P<rest>(?:[A-Z]\w+|\w+ \d[\w.]*)\b.*)",
        "uses {rest}",
        PREFERENCE,
    ),
    i_state(
        "I always take the train to work",
        rf"(?P<often>always|never|usually|often|regularly|rarely|mostly|frequently|typically|only) (?P<verb>"
        rf"(?!been\b|not\b)[a-z]+)\s+{REST}",
        habit,
        PREFERENCE,
        the=True,
    ),
    i_state(
        "I go swimming every Tuesday",
        rf"(?P<verb>[a-z]+)\s+(?P<rest>(?!been\b|not\b|to\b)(?:.+ )?{words.REGULARLY}.*)",
        habit,
        PREFERENCE,
        the=True,
        wide=True,
    ),
    i_state(
        "I play the cello",
        rf"(?P<verb>{words.LASTING})\s+(?P<rest>(?!for\b|a lot\b|with it|off\b|down\b|out\b|along\b|around\b"
        rf"|together\b|up\b|now\b).+)",
        habit,
        PREFERENCE,
        the=True,
    ),
    i_state(
        "I smoke",
        r"(?P<verb>smoke|swim|run|cycle|drive|paint|draw|dance|sing|knit|sew|bake|climb|ski|surf|meditate)"
        r"(?P<rest>)(?:,? (?:now|regularly|a lot))?(?P<more>,? in the (?:morning|evening)s?)?",
        lambda found, _: f"{third_person(found['verb'])}{found['more'] or ''}",
        PREFERENCE,
    ),
    i_state(
        "I have been playing the flute for 15 years",
        rf"have been (?P<verb>\w+ing) (?P<rest>{SINCE})",
        lambda found, rest: "" if found["verb"].lower() in _OF_THE_MIND else f"has been {found['verb'].lower()} {rest}",
        PREFERENCE,
        the=True,
    ),
)
_WORK_ON = (
    r"working on|building|developing|writing(?! to\b| this\b|.* down$)|designing|learning|researching"
    r"|organi[sz]ing|renovating|remodell?ing"
    r"|restoring|saving(?: up)? for|training for|preparing for|practi[cs]ing for|applying (?:to|for)|recording"
    r"|composing|programming|coding"
    r"|migrating|porting|rewriting|refactoring|planning(?: on)?|teaching myself|volunteering (?:at|for|with|in|as)"
    r"|mentoring|coaching|attending"
    r"|taking (?=an? (?:\w+ )*(?:class|course|workshop)|[a-z]+ (?:classes|lessons|courses))"
    r"|(?:looking|searching) for (?=an? (?:\w+ ){0,2}(?:job|position|place|flat|apartment|house|home|roommate"
    r"|mentor|internship|school)\b)"
    r"|job hunting in|moving (?:to|in with)|creating|expanding|running for|raising|fostering|expecting|adopting"
    r"|getting (?=married|divorced)"
    rf"|(?:starting|opening|launching|setting up|running|hosting) {VENTURE}|turning (?=my )|offering|flying to"
    rf"|travell?ing to"
    r"|trying to (?=learn |lose |quit |save (?:up|money) |become |get better |eat |maintain |stop (?:smoking"
    r"|drinking) )|aiming (?:to|for)"
    r"|getting ready for|getting into|rehearsing(?: for)?|revising for|studying (?!hard\b)|blogging about"
    r"|focused on|practi[sc]ing (?!for\b|hard\b)"
    r"|participating in|competing in|collecting|collaborating with|reading (?=[\"“]|(?-i:[A-Z]))"
)
_STARTED = (
    rf"joined|signed up for|enrolled in|took up|taken up|applied (?:to|for)|registered for|(?:started|began"
    rf"|begun) (?=\w+ing\b|on a book)"
    rf"|(?:started|began|launched|opened|founded|set up) {VENTURE}|booked|stopped (?=\w+ing)|got rid of"
    rf"|ripped out|(?:finished|completed|published|released|passed) (?=(?:my|an?|our|the) "
    rf"(?:[a-z][\w-]*\s+){0, 3}?(?:book|novel|course|degree|thesis|album|screenplay|script|program|exam|app|game"
    r"|memoir|certification|internship|marathon)\b)"
)
_TURNED_OUT = (
    rf"(?:adopted|rescued|bought|purchased) (?=(?:an?|two|three|my first|my own) )|retired(?= |$)|gave up|quit"
    r"|(?:broke|split) up with|sold (?=my |our )|(?:won|lost|landed) (?=(?:my|an?|our|the) (?:[a-z][\w-]*\s+){0,3}?"
    r"(?:job|role|internship|race|marathon|competition|tournament|contest|award|prize|scholarship|championship"
    rf"|game jam)\b)|(?<!have )got (?=(?:an?|two|three|my) {FEW}(?:{words.ANIMALS}|{words.VENTURES}|{words.THINGS}"
    r"|job|promotion|visa|tattoo|diagnosis|scholarship|place at|passport)\b)"
)
_PLANNING = (
    i_state(
        "I am researching seed banks",
        rf"(?P<be>am|have (?:\w+ )?been) (?:(?:busy|currently|secretly|really) )?(?P<verb>{_WORK_ON})\s*{REST}",
        in_hand,
        PROJECT,
        the=True,
    ),
    i_state(
        "I plan to visit Japan", rf"(?P<verb>plan|aim|intend) (?P<how>to|on)\s+{REST}", "{v} {how} {rest}", PROJECT
    ),
    i_state(
        "I want to open a bakery",
        rf"want to (?P<rest>(?:become|learn (?!how|more|about)|study|lose|quit (?:smoking|drinking|my)|move to"
        rf"|travel|visit|(?:open|start|launch|run|own|build|create|buy|publish|write) {VENTURE}).+)",
        "wants to {rest}",
        PROJECT,
    ),
    i_state(
        "I have always wanted to be Pope", rf"have (?P<what>always wanted to) {REST}", "has {what} {rest}", PROJECT
    ),
    i_state(
        "I am going to adopt a dog",
        r"am going to (?P<rest>(?:start|launch|open|move|study|build|publish|adopt|marry|attend|teach|apply|join)\b.+)",
        "is going to {rest}",
        PROJECT,
    ),
    my_state(
        "My thesis is about river deltas",
        r"(?P<what>(?:(?:main|big|biggest|long-term|short-term|ultimate|next|current|new|latest|life|career"
        r"|fitness) )*(?:goal|dream|dream job|plan|ambition|project|thesis"
        rf"|dissertation|side project|deadline|resolution|startup|focus)) (?P<is>is|are) (?=an?\b|the\b|about\b"
        rf"|on\b|due\b|called\b|to\b|in\b|\w+ing an?\b|(?-i:[A-Z])|\d){REST}",
        "'s {what} {is} {rest}",
        PROJECT,
    ),
    i_state(
        "I started playing the oboe",
        rf"(?P<has>have (?:(?:just|recently|finally|already) )?)?(?P<verb>{_STARTED})\s*{REST}",
        lasting_past,
        PROJECT,
    ),
    i_state(
        "I adopted a greyhound",
        rf"(?P<has>have (?:(?:just|recently|finally|already) )?)?(?P<verb>{_TURNED_OUT})\s*{REST}",
        lasting_past,
        IDENTITY,
    ),
    i_state(
        "I decided to stay in Turku",
        rf"(?:have )?decided (?P<how>to|on|against|that) {REST}",
        lambda found, rest: f"decided {found['how'].lower()} {rest}" if len(content_stems(rest)) > 1 else "",
        PROJECT,
    ),
    bare(
        "Help me plan a week in Crete",
        r"(?:(?:can|could|would) you )?(?:please )?help me (?:to )?(?P<verb>plan|prepare for|organi[sz]e"
        r"|train for|learn|study for) (?P<rest>(?!how\b|this\b|the\b).+)",
        lambda found, rest: "" if words.MOMENT.match(rest) else f"is {_gerund(found['verb'])} {rest}",
        PROJECT,
    ),
)


def _gerund(verb: str) -> str:
    first, _, rest = verb.lower().partition(" ")
    return f"{first + 'n' if first == 'plan' else first.removesuffix('e')}ing {rest}".rstrip()


PREDICATES = (*IDENTITIES, *_LIKING, *_PLANNING, *_DOING)
"""The English ways to state something that lasts."""
