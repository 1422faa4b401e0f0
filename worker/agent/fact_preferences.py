"""The ways people state what they like, do and have in hand; with ``identity``, all frames there are."""

from __future__ import annotations

import re
from collections.abc import Callable

from worker.agent import fact_words as words
from worker.agent.fact_grammar import (
    FEW,
    IDENTITY,
    MORE,
    PREFERENCE,
    PROJECT,
    REST,
    Frame,
    bare,
    capitalised,
    denied,
    habit,
    i_state,
    my_state,
    past,
    present,
    third_person,
    turned,
)
from worker.agent.fact_identity import IDENTITIES


def _inclined(found: re.Match[str], rest: str) -> str:
    negated = "not " if found["not"] else ""
    return f"is {negated}{found['how'].lower()} {rest}"


def _favourite(found: re.Match[str], rest: str) -> str:
    return f"'s {turned(found['what'])} {found['is'].lower()} {rest}"


def _among_favourites(found: re.Match[str], rest: str) -> str:
    verb = "include" if "one of" in found[0].lower() else found["is"].lower()
    return f"'s {turned(found['what'])} {verb} {_within(rest)}"


def _within(opening: str) -> str:
    """Return what began a sentence as it stands within one."""
    first = opening.split(" ", 1)[0]
    return opening[:1].lower() + opening[1:] if first.endswith("ing") else opening


def _in_hand(found: re.Match[str], rest: str) -> str:
    return f"{'has been' if 'been' in found['be'].lower() else 'is'} {turned(found['verb'].lower())} {rest}"


def _cared(found: re.Match[str], rest: str) -> str:
    takes = {"care": "about ", "believe": "in ", "value": ""}[found["verb"].lower()]
    return f"{third_person(found['verb'])} {rest}" if rest.startswith(takes) else ""


PREFERENCES = (
    my_state(
        "my favourite colour is green",
        r"(?P<what>(?:all[- ]time |absolute |personal |current )?favourite (?!is\b|are\b)[^,]{1,60}?) (?P<is>is|are) "
        + REST,
        _favourite,
        PREFERENCE,
    ),
    Frame(
        "Ravel is my favourite composer",
        re.compile(
            r"^(?P<rest>[A-Z\"“][^,]{1,80}?|[a-z]+ing\b[^,]{0,60}?) (?P<is>is|are) (?:definitely |still |also )?"
            r"(?:one of )?my (?:all[- ]time |absolute |personal )?(?P<what>favourite [^,]{1,40}?)$"
        ),
        _among_favourites,
        PREFERENCE,
    ),
    my_state(
        "my main hobby is archery",
        r"(?P<what>(?:main |biggest )?(?:hobby|hobbies|passion|passions|interests)) (?P<is>is|are|include) " + REST,
        "'s {what} {is} {rest}",
        PREFERENCE,
    ),
    i_state(
        "I like oak",
        rf"(?:do )?(?P<verb>love|like|enjoy|adore|prefer|hate|dislike|detest|loathe|despise|avoid)\s+{REST}",
        present,
        PREFERENCE,
    ),
    i_state(
        "I care about wildlife",
        r"(?P<verb>care|value|believe) (?!about you)(?:deeply |a lot )?" + REST,
        _cared,
        PREFERENCE,
    ),
    i_state("I cannot stand coriander", rf"(?P<not>cannot) (?P<verb>stand)\s+{REST}", denied, PREFERENCE),
    i_state(
        "I do not like cilantro",
        r"(?P<not>do not) (?:really |particularly |even )?(?P<verb>like|enjoy|eat|drink|smoke|use|watch|care for|own)"
        + MORE,
        lambda found, rest: f"does not {found['verb'].lower()} {rest}",
        PREFERENCE,
    ),
    i_state(
        "I never eat meat",
        rf"(?P<often>never) (?P<verb>eat|drink|smoke|drive|use|watch|wear|buy|skip|fly){MORE}",
        habit,
        PREFERENCE,
    ),
    i_state(
        "I am not interested in football",
        r"(?:am|have (?:always |long )?been) (?P<not>not )?(?:(?:always|really|very|super|quite|totally|so|deeply) )*"
        r"(?P<how>into|all about|fond of|passionate about|keen on|interested in|obsessed with|addicted to|crazy about"
        r"|hooked on)"
        rf"\s+{REST}",
        _inclined,
        PREFERENCE,
    ),
    i_state(
        "I am afraid of heights",
        rf"am (?P<not>not )?(?:(?:very|so|terribly) )*(?P<how>afraid of|scared of"
        rf"|terrified of) (?P<rest>{words.FEARS})",
        _inclined,
        IDENTITY,
    ),
    i_state(
        "I am a big fan of Ravel",
        r"am (?P<not>not )?(?P<how>(?:an? |such a )?(?:big |huge |massive |lifelong |real |die-hard )*"
        rf"(?:fan of|lover of|believer in)) {REST}",
        _inclined,
        PREFERENCE,
    ),
    i_state(
        "I am a huge opera fan",
        r"am (?P<rest>an? (?:big |huge |massive |lifelong |real |die-hard )*(?!big\b|huge\b|real\b)[\w' -]{3,40}? "
        r"(?:fan|lover|enthusiast|buff|nerd|geek|fanatic|addict|collector))",
        "is {rest}",
        PREFERENCE,
    ),
    bare(
        "Making pottery is my passion",
        r"(?P<rest>[a-z][\w' -]{2,40}?) (?P<is>is|are) (?:definitely |still |also |really )?my (?P<what>(?:biggest "
        r"|main |true )?(?:passion|hobby|hobbies))",
        _among_favourites,
        PREFERENCE,
    ),
    i_state(
        "I have always had a love for horses",
        r"have always had (?P<rest>an? (?:\w+ )?(?:love|passion|soft spot|respect|interest|fear|talent) (?:for|in"
        r"|of) .+)",
        "has always had {rest}",
        PREFERENCE,
    ),
    i_state(
        "I have always loved trains",
        rf"(?:have )?always (?:\w+ly )?(?P<verb>loved|enjoyed|hated|liked|preferred)\s+{REST}",
        lambda found, rest: f"has always {found['verb'].lower()} {rest}",
        PREFERENCE,
    ),
    i_state(
        "I always take the train to work",
        rf"(?P<often>always|never|usually|often|regularly|rarely|mostly|frequently|typically) (?P<verb>{words.DEEDS})"
        rf"\s+(?!been\b|not\b){REST}",
        habit,
        PREFERENCE,
        the=True,
    ),
    i_state(
        "I go swimming every Tuesday",
        rf"(?P<verb>{words.DEEDS})\s+(?P<rest>(?!been\b|not\b|to\b)(?:.+ )?{words.REGULARLY}\b.*)",
        habit,
        PREFERENCE,
    ),
    i_state(
        "I play the cello",
        rf"(?P<verb>{words.HABITS})(?:\s+(?P<rest>(?!for\b|a lot\b|with it|off\b|down\b|out\b|along\b|around\b"
        r"|together\b|up\b).+))",
        habit,
        PREFERENCE,
    ),
    i_state(
        "I have been playing the flute for 15 years",
        r"have been (?P<verb>playing|painting|drawing|dancing|singing|collecting|practi[sc]ing|teaching|gardening"
        r"|knitting|cycling|running|swimming|skiing|doing|coaching) (?P<rest>.+ (?:for (?!the first)|since ).+)",
        lambda found, rest: f"has been {found['verb'].lower()} {rest}",
        PREFERENCE,
        the=True,
    ),
    i_state(
        "I use Postgres at work",
        r"(?:use|code in|program in|develop in|write everything in) (?!for\b|to\b|in\b|with\b|as\b|an? (?-i:[a-z])"
        r"|my\b|print\b|some\b)" + REST,
        "uses {rest}",
        PREFERENCE,
    ),
    bare(
        "Please always answer in danish",
        rf"(?:please |from now on,? |always )+(?:answer|reply|respond|write|talk"
        rf"|speak)(?: to me)? (?:only )?(?P<rest>in {words.TONGUES})",
        lambda _, rest: f"wants answers {rest[:3]}{capitalised(rest[3:])}",
        PREFERENCE,
    ),
)
_VENTURE = rf"(?=(?:an?|my|our|the|my own|a new) {FEW}{words.VENTURES}\b)"
_WORK = (
    r"working on|building|developing|writing(?! to\b| this\b|.* down$)|designing|learning|researching|organi[sz]ing"
    r"|renovating|remodell?ing|restoring|saving(?: up)? for|training for|preparing for|practi[cs]ing for"
    r"|applying (?:to|for)|recording|composing|programming|coding|migrating|porting|rewriting|refactoring"
    r"|planning(?: on)?|teaching myself|volunteering (?:at|for|with|in|as)|mentoring|coaching|attending"
    r"|taking (?=an? (?:\w+ )*(?:class|course|workshop)|[a-z]+ (?:classes|lessons|courses))"
    r"|looking for (?=an? (?:\w+ ){0,2}(?:job|position|flat|apartment|house|home|roommate|mentor|internship|school)\b)"
    r"|job hunting in|moving to|creating|expanding|running for|raising|fostering|expecting|adopting"
    rf"|(?:starting|opening|launching|setting up|running|hosting) {_VENTURE}|turning (?=my )|offering"
    r"|trying to (?=learn |lose |quit (?:smoking|drinking|sugar) |save (?:up|money) |become |get better |eat "
    r"|maintain )"
    r"|aiming (?:to|for)|getting ready for|getting into|rehearsing(?: for)?|revising for|studying for"
    r"|blogging about|focused on|practi[sc]ing (?!for\b|hard\b)|participating in|competing in"
    r"|studying (?!for\b|hard\b)|searching for (?=an? (?:\w+ ){0,2}(?:job|place|flat|apartment|house|home)\b)"
    r"|collecting|collaborating with|reading (?=[\"“]|(?-i:[A-Z]))"
)
_OF_THE_MOMENT = re.compile(
    rf"^(?:an?|the|my|our|some|two)?\s*(?:[\w-]+ ){{0,3}}?{words.MOMENTARY}(?:$|,| (?:that|which|to|for|in|with|from"
    r"|called|named|of|on|and|at|using|where|so)\b)",
    re.IGNORECASE,
)
"""What is under way at a keyboard this minute: no project."""


def _lasting(says: Callable[[re.Match[str], str], str]) -> Callable[[re.Match[str], str], str]:
    """State nothing of what is over before it is of use."""

    def stated(found: re.Match[str], rest: str) -> str:
        return "" if _OF_THE_MOMENT.match(rest) else says(found, rest)

    return stated


def _begun(found: re.Match[str], rest: str) -> str:
    has = "has " if found["has"] else ""
    return f"{has}{found['verb'].lower()} {rest}"


_OCCASION = (
    r"deadline|exam|interview|presentation|audition|recital|competition|tournament|exhibition|performance|gig|show"
    r"|surgery|trip|wedding|conference"
)
_ACHIEVED = (
    r"book|novel|course|degree|thesis|album|screenplay|script|program|exam|test|paper|app|game|memoir|certification"
    r"|internship|marathon"
)
PROJECTS = (
    i_state(
        "I am researching seed banks", rf"(?P<be>am) (?:busy )?(?P<verb>{_WORK})\s*{REST}", _lasting(_in_hand), PROJECT
    ),
    i_state(
        "I have been learning Finnish for two years",
        rf"(?P<be>have (?:\w+ )?been) (?:(?:busy|currently|secretly|really) )?(?P<verb>{_WORK})\s*{REST}",
        _lasting(_in_hand),
        PROJECT,
    ),
    i_state("I plan to visit Japan", rf"plan (?P<how>to|on)\s+{REST}", "plans {how} {rest}", PROJECT),
    i_state("I aim to run a marathon", rf"(?:aim|intend) to\s+{REST}", "aims to {rest}", PROJECT),
    i_state(
        "I want to open a bakery",
        r"want to (?P<rest>(?:become|learn (?!how|more|about)|study|lose|quit (?:smoking|drinking|my)|move to|travel"
        rf"|visit|(?:open|start|launch|run|own|build|create|buy|publish|write) {_VENTURE}).+)",
        "wants to {rest}",
        PROJECT,
    ),
    i_state(
        "I have always wanted to visit Peru",
        r"have always wanted to (?P<rest>(?:become|be an?|learn|open|write|visit|travel|play|live|go to|own|try) .+)",
        "has always wanted to {rest}",
        PROJECT,
    ),
    i_state(
        "I am going to adopt a dog",
        r"am going to (?P<rest>(?:start|launch|open|move|study|build|publish|adopt|marry|attend|teach|apply|join)\b.+)",
        "is going to {rest}",
        PROJECT,
    ),
    my_state(
        "My thesis is about river deltas",
        r"(?P<what>(?:(?:main|big|biggest|long-term|short-term|ultimate|next|current|new|latest|life|career|fitness) )*"
        r"(?:goal|dream|dream job|plan|ambition|project|thesis|dissertation|side project|deadline|resolution|startup"
        rf"|focus)) (?P<is>is|are) (?=an?\b|the\b|about\b|on\b|due\b|called\b|to\b|in\b|\w+ing an?\b|(?-i:[A-Z])"
        rf"|\d){REST}",
        "'s {what} {is} {rest}",
        PROJECT,
    ),
    i_state(
        "I have an exam on 12 June",
        rf"have (?P<rest>(?:an?|my) {FEW}(?:{_OCCASION}) (?:on|in|for|to|at|with)\b.+)",
        "has {rest}",
        PROJECT,
    ),
    i_state(
        "I started playing the oboe",
        r"(?P<has>have (?:(?:just|recently|finally|already) )?)?(?P<verb>joined|signed up for|enrolled in|took up"
        r"|taken up"
        r"|applied (?:to|for)|registered for|(?:started|began|begun) (?=\w+ing\b|on a book)"
        rf"|(?:started|began|launched|opened|founded|set up) {_VENTURE}){REST}",
        _lasting(_begun),
        PROJECT,
    ),
    i_state(
        "I finished my novel",
        rf"(?P<verb>finished|completed|published|released|passed) (?P<rest>(?:my|an?|our"
        rf"|the) {FEW}(?:{_ACHIEVED})\b.*)",
        past,
        PROJECT,
    ),
)

FRAMES = (*IDENTITIES, *PREFERENCES, *PROJECTS)
