"""The English ways to state who one is, what one does for a living, and whom and what one has.

The first that fits decides, so the narrower stand before the wider.
"""

from __future__ import annotations

import re

from worker.agent import fact_words as words
from worker.agent.fact_grammar import capitalised
from worker.agent.fact_predicates import (
    AGE,
    DAY,
    FEW,
    IDENTITY,
    MORE,
    NAME,
    NUMBER,
    OLD,
    PREFERENCE,
    PROJECT,
    REST,
    VENTURE,
    VERB_BEHIND,
    WEEKLY,
    WHOSE,
    Predicate,
    bare,
    habit,
    i_state,
    inclined,
    my_state,
    somebody,
    works,
)

_PAST_OF = {
    "have lived": "has lived",
    "were born": "was born",
    "were raised": "was raised",
    "were diagnosed": "was diagnosed",
    "moved here": "moved",
    "moved over": "moved",
}
_PERSON = (
    my_state("my name is Sam", rf"(?:\w+ )?name is {NAME}", "'s name is {rest}", IDENTITY),
    i_state("I am called Tove", rf"(?:am called|go by|am named|am known as) {NAME}", "'s name is {rest}", IDENTITY),
    bare(
        "You can call me Tolli",
        r"(?:please |just |you can |you may |everyone calls me |people call me |friends call me )+(?:just )?"
        rf"(?:call me )?{NAME}(?:,? (?:not|never) .+)?",
        lambda found, rest: f"is called {rest}" if "call" in found[0].lower() else "",
        IDENTITY,
    ),
    i_state("I am thirty-one", rf"am (?P<age>{AGE})(?: years? old| years of age)?", "is {age} years old", IDENTITY),
    i_state("I turned forty in May", r"turned (?P<rest>(?:[1-9]\d|eighteen|[a-z]+ty)\b.*)", "turned {rest}", IDENTITY),
    my_state(
        "My birthday is on 3 March",
        r"(?P<what>birthday|(?:wedding )?anniversary|date of birth|(?:new |home |email |e-mail )?address|email"
        r"|phone number"
        r"|nickname|surname|mother tongue|(?:native|first) language|nationality|home ?town|blood type|star sign"
        r"|zodiac sign|time ?zone|job title|profession|occupation|job|major|degree|pronouns|religion|(?:\w+ )?budget"
        r"|shoe size|dress size|rent|mortgage) (?!is tight|is low|is wrong|is limited)(?P<is>(?:is|are)(?: around"
        r"| about| up to| at most)?) (?:on )?" + REST,
        "'s {what} {is} {rest}",
        IDENTITY,
    ),
    i_state(
        "I live in Lyon",
        r"(?:live|reside|am living|am based|am located|have been living) (?P<at>in|near|on|at|outside|with|by"
        rf"|close to)\s+(?!the moment|the present|fear|hope|harmony|peace){REST}",
        "lives {at} {rest}",
        IDENTITY,
    ),
    i_state("I am at 5 Elm Street", r"am at (?P<rest>\d{1,5}[a-z]? (?-i:[A-Z]).+)", "lives at {rest}", IDENTITY),
    i_state("I live alone", r"live (?P<rest>alone|off-grid|by myself|on my own)", "lives {rest}", IDENTITY),
    i_state(
        "I am originally from Ghent",
        r"(?:am (?:originally )?|come )from\s+(?P<rest>(?:(?:an?|the|my|downtown|rural|\w+ern) .+|(?-i:[A-Z]).+))",
        "is from {rest}",
        IDENTITY,
    ),
    i_state(
        "I was born in Ghana",
        r"(?P<how>(?:was|were) (?:born|raised)|grew up|graduated|moved(?: (?:here|over))?|have lived|was diagnosed"
        rf"|were diagnosed) (?P<at>to|from|into|in with|out of|in|on|near|with|by|at|as|speaking"
        rf"|and raised in)\s+{REST}",
        lambda found, rest: f"{_PAST_OF.get(found['how'].lower(), found['how'].lower())} {found['at'].lower()} {rest}",
        IDENTITY,
    ),
    i_state(
        "I left Ghent",
        r"left (?P<rest>(?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)*(?: .*\b(?:ago|in|last|20\d\d)\b.*)?)",
        "left {rest}",
        IDENTITY,
    ),
    i_state(
        "I speak Danish and Polish",
        rf"(?:can )?speak (?P<rest>(?:\w+ )?{words.TONGUES}\b.*)",
        "speaks {rest}",
        IDENTITY,
    ),
    i_state(
        "I am fluent in Danish",
        rf"am (?P<how>fluent in|a native speaker of)\s+(?P<rest>{words.TONGUES}\b.*)",
        lambda found, rest: f"is {found['how'].lower()} {capitalised(rest)}",
        IDENTITY,
    ),
    i_state(
        "I can play chess",
        rf"can (?P<verb>play|juggle|sing|knit|sew|code|ski|surf|swim|sail)"
        rf" (?!(?:it|with|lots|games|many|together)\b){REST}",
        "can {verb} {rest}",
        IDENTITY,
    ),
)
STATE = (
    rf"(?:{words.STATES}|{words.DIETS}|{words.FAITHS_AND_NATIONS})(?:(?: to| with| for| since| from| in| and| but| by"
    rf"| so|,).*|[ -]American)?"
)
_BEING = (
    i_state(
        "I am allergic to peanuts",
        rf"am (?:\w+ly )?(?P<how>allergic to|intolerant to|sensitive to)\s+{REST}",
        "is {how} {rest}",
        IDENTITY,
    ),
    i_state(
        "I am vegan",
        rf"am (?:an? )?(?:strict(?:ly)? )?(?P<rest>{words.DIETS}(?:(?: for| since| and)\b.*)?)",
        "is {rest}",
        PREFERENCE,
    ),
    i_state(
        "I am Danish",
        rf"am (?P<rest>{words.FAITHS_AND_NATIONS}(?:(?: and| but| by| living| born| with)\b.*|[ -]American)?)",
        lambda _, rest: f"is {capitalised(rest)}",
        IDENTITY,
    ),
    i_state("I am married to Pia", rf"am (?P<rest>(?!engaged in|separated from){STATE})", "is {rest}", IDENTITY),
    i_state(
        "I have been vegan for ten years",
        rf"have been (?P<rest>(?:an? )?{words.DIETS} (?:for|since) .+)",
        "has been {rest}",
        PREFERENCE,
    ),
    i_state(
        "I have been together with Pia for ten years",
        rf"have been (?P<rest>(?:an? (?!{words.NOBODY}).*|(?:happily|in)\b.*|{STATE}|together.*) (?:for "
        rf"(?!the first)|since ).+)",
        lambda _, rest: f"has been {rest}",
        IDENTITY,
    ),
    i_state(
        "I got engaged in Paris",
        r"(?:was|got|have been) (?P<rest>(?:engaged|married|divorced|promoted|hired|accepted|elected|laid off)\b.*)",
        "got {rest}",
        IDENTITY,
    ),
    i_state(
        "I became vegan in 2019",
        rf"(?:became|went|turned) (?P<rest>(?:{words.DIETS}|an? \w+)\b.*)",
        "became {rest}",
        IDENTITY,
    ),
    i_state(
        "I am not interested in football",
        r"(?:am|have (?:always |long )?been) (?P<not>not )?(?:(?:always|really|very|super|quite|totally|so|deeply) )*"
        r"(?P<how>into|all about|fond of|passionate about|keen on|interested in|obsessed with|addicted to|crazy about"
        rf"|hooked on|an? (?:\w+ )?(?:fan|lover|believer) (?:of|in))\s+{REST}",
        inclined,
        PREFERENCE,
    ),
    i_state(
        "I am afraid of heights",
        rf"am (?P<not>not )?(?:\w+ )?(?P<how>(?:afraid|scared|terrified) of) (?P<rest>{words.FEARS})",
        inclined,
        IDENTITY,
    ),
    i_state(
        "I am a huge opera fan",
        r"am (?P<rest>an? (?:big |huge |massive |lifelong |real |die-hard )*(?!big\b|huge\b|real\b)[\w' -]{3,40}? "
        r"(?:fan|lover|enthusiast|buff|nerd|geek|fanatic|addict|collector|person))",
        "is {rest}",
        PREFERENCE,
    ),
    i_state(
        "I am a retired carpenter from Turku",
        rf"am (?P<rest>(?:an?|the only|part of) (?!{words.NOBODY}|(?:\w+ )?(?:team|family|group|band|company"
        rf"|startup|club)\b).+)",
        lambda found, rest: "" if words.MOMENT.match(rest) else f"is {rest}",
        IDENTITY,
        the=True,
    ),
    i_state("I am on a gluten-free diet", r"am on (?P<rest>an? (?:[\w-]+ )+diet\b.*)", "is on {rest}", IDENTITY),
    Predicate(
        "we are a team of nine",
        re.compile(
            r"^we am (?P<rest>an? (?:\w+ )?(?:team|family|group|band|company|startup|club|household) .+)$",
            re.IGNORECASE,
        ),
        "is part of {rest}",
        IDENTITY,
    ),
    i_state(
        "I am on Java 21.2",
        r"am (?:now )?on (?P<rest>(?!line|page|step|level|day|version\b)[a-z][\w.+#-]* \d+(?:\.\d+)+\b.*)",
        "is on {rest}",
        PROJECT,
    ),
    bare(
        "As a freelance translator",
        r"(?:as|being) (?P<rest>an? (?:(?!i\b|we\b)[a-z][\w-]*\s+){0,2}?(?!user|customer|beginner|better|matter"
        r"|number|newcomer)(?:[a-z-]+(?:er|or|ist|ian|eer)|nurse|student|chef|parent|vet"
        r"|coach|vegan)(?:(?: at| in| from) .+)?)",
        "is {rest}",
        IDENTITY,
    ),
)
_OCCUPATION = (
    i_state(
        "I work as a nurse",
        r"(?P<verb>work|worked|have been working|have worked) (?P<how>as|at|for|in|with|remotely|from|part[- ]time"
        rf"|full[- ]time|nights?|days|weekends|freelance|alone|shifts)(?! (?:hours|days|ages|long)\b){MORE}",
        works,
        IDENTITY,
        the=True,
    ),
    i_state(
        "I am employed at Lego", rf"am (?:working|employed) (?P<how>as|at|for)\s+{REST}", "works {how} {rest}", IDENTITY
    ),
    i_state(
        "I study marine biology in Bergen",
        rf"(?:study|am studying|major in|am majoring in) (?!for\b|hard\b|together\b|a lot\b|to\b|with\b){REST}",
        "studies {rest}",
        IDENTITY,
    ),
    i_state(
        "I teach chemistry at a school",
        r"(?P<verb>teach|coach|mentor|volunteer)(?:\s+(?P<rest>(?!for a).+))?",
        habit,
        IDENTITY,
        the=True,
    ),
    i_state(
        "I have a degree in physics",
        r"(?:have|hold|got|earned) (?P<rest>(?:an? |my )(?:\w+ )?(?:degree|diploma|phd|master['’]?s|bachelor['’]?s"
        r"|doctorate|certificate|licen[cs]e) .+)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        "I run a small bakery in Leith",
        rf"(?P<verb>run|manage|co-own|head|lead) (?P<rest>{VENTURE}.+)",
        "{v} {rest}",
        IDENTITY,
    ),
    i_state(
        "I drive an old Volvo",
        r"(?P<verb>drive|ride|own|rent) (?P<rest>(?:an?|two|three|my own) .+)",
        "{v} {rest}",
        IDENTITY,
    ),
)
_HAVING = (
    i_state(
        "I have a dog",
        rf"have (?:got )?(?P<rest>{NUMBER} {FEW}(?:{words.KIN}|{words.ANIMALS})"
        r"(?:(?:,? (?:and|named|called|aged|who|from|together|of my own|in)\b|,).*)?)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        "I have mild asthma",
        rf"have (?P<rest>(?:an? |severe |chronic |mild |bad |terrible )*(?:{words.CONDITIONS}"
        r"|(?:[a-z]+ ){1,2}(?:allergy|allergies|intolerance))\b.*)",
        lambda _, rest: f"has {VERB_BEHIND.sub('', rest)}",
        IDENTITY,
    ),
    bare(
        "codeine gives me hives",
        r"(?P<rest>[a-z][\w-]*(?: [a-z][\w-]*){0,2}) (?:always )?gives? me "
        r"(?P<what>hives|(?:an? )?(?:bad )?rash(?:es)?|migraines?|headaches|heartburn|asthma"
        r"|nausea|palpitations|stomach (?:aches?|cramps)|cramps|nosebleeds|nightmares)",
        lambda found, rest: f"gets {found['what'].lower()} from {rest[:1].lower()}{rest[1:]}",
        IDENTITY,
    ),
    i_state(
        "I have a piano",
        rf"(?:have(?: got)?|own) (?P<rest>(?:(?:an?|two|three|four|my own|several) {FEW})?{words.THINGS}"
        r"(?:(?: named| called| in| at| with| for| from| and| of my own| near| on| since)\b.*)?)",
        "has {rest}",
        IDENTITY,
    ),
    i_state(
        "I have an exam on 12 June",
        rf"have (?P<rest>(?:an?|my|our) {FEW}(?:deadline|exam|interview|presentation|audition|recital|competition"
        rf"|tournament|exhibition|performance|gig|surgery|operation|trip|wedding|conference|test"
        rf"|thesis defen[cs]e) (?:on|in|for|to|at|with)\b.+)",
        "has {rest}",
        PROJECT,
    ),
    i_state(
        "I have yoga on Mondays",
        rf"have (?P<rest>(?!an?\b|the\b|my\b|work\b|school\b|off\b|time\b|plans\b|lunch\b|dinner\b|breakfast\b"
        rf"|drinks\b|coffee\b|meetings?\b|appointment|to\b){WEEKLY})",
        "has {rest}",
        PREFERENCE,
        wide=True,
    ),
    i_state(
        "I have always had a love for horses",
        r"have always had (?P<rest>an? (?:\w+ )?(?:love|passion|soft spot|respect|interest|fear|talent)"
        r" (?:for|in|of) .+)",
        "has always had {rest}",
        PREFERENCE,
    ),
    i_state(
        "I have had two cats for six years",
        r"have had (?P<rest>(?!to\b|enough\b|it\b|this\b|the\b|problems?\b|trouble\b).+ (?:for .*\b(?:months?"
        r"|years?)\b|since ).*)",
        "has had {rest}",
        IDENTITY,
    ),
    i_state("I suffer from vertigo", rf"suffer from\s+{REST}", "suffers from {rest}", IDENTITY),
    i_state(
        "I take 20 mg of statins daily",
        r"take (?P<rest>(?!off\b|care\b|it easy\b)(?=.*\b(?:\d+ ?(?:mg|mcg|ml|g|micrograms|units|drops)|pills?"
        r"|tablets?|daily|for (?:my|the) \w+|in the (?:morning|evening)|at night|before bed|twice|once)\b)[^,]+.*)",
        "takes {rest}",
        IDENTITY,
        the=True,
    ),
    i_state(
        "I cannot eat shellfish",
        rf"cannot (?P<verb>eat|drink|swim|drive|tolerate|digest|stand|have){MORE}",
        lambda found, rest: (
            f"cannot {found['verb'].lower()} {rest}" if rest or found["verb"].lower() in ("swim", "drive") else ""
        ),
        IDENTITY,
    ),
)
_FAMILY = (
    my_state(
        "My son Emil is six",
        rf"{WHOSE} (?P<is>is|are) (?P<rest>{AGE}{OLD}(?:(?: and|,) .*)?)",
        "'s {kin} {is} {rest}",
        IDENTITY,
    ),
    my_state(
        "My husband is a firefighter",
        rf"{WHOSE} (?P<is>is|are) (?P<rest>(?:an? (?!bit|little|lot|mess)(?:[\w-]+ ?)+.*|(?:named|called|from) .+"
        rf"|allergic(?: to .+)?|{STATE}"
        r"|pregnant.*|(?:getting|going to get) (?:married|divorced).*|moving to .+|expecting .+|(?:study|learn"
        r"|train|build|writ)ing .+"
        rf"|(?:in|at) (?-i:[A-Z])\w+.*|due (?:on|in) .+))",
        somebody,
        IDENTITY,
        wide=True,
    ),
    my_state(
        "my sister lives in Porto",
        rf"{WHOSE} (?P<is>(?:(?:always|never|also|only|does not|cannot|do not) )?(?:lives?|works?|stud(?:ies|y)"
        rf"|plays?|loves?|likes?|hates?|speaks?|teaches|runs|has|have|owns?|eats?|drinks?"
        rf"|attends?|takes?|drives?|needs?|prefers?|goes to|starts?|suffers?|turns?|stand|swims?|sings?"
        rf"|collects?)) (?!an? (?:cold|fever|headache|point|question|bad day|good time)|to\b|been\b|done\b){REST}",
        somebody,
        IDENTITY,
        wide=True,
    ),
    my_state(
        "my grandmother passed away in 2019",
        rf"{WHOSE} (?P<is>passed away|died|got married|gave birth){MORE}",
        somebody,
        IDENTITY,
        wide=True,
    ),
    my_state(
        "my father had a hip replacement",
        rf"{WHOSE} (?P<is>had|has had) (?P<rest>(?:an? |two )?(?:\w+ )?(?:replacement|stroke|surgery|operation"
        rf"|heart attack|transplant|baby|twins)\b.*)",
        somebody,
        IDENTITY,
        wide=True,
    ),
    my_state(
        "my friend Ada wants me to sing",
        rf"(?P<kin>(?:[a-z-]+ )?(?:{words.KIN}|{words.ACQUAINTANCE}) (?-i:[A-Z])\w+) (?P<is>wants|asked) "
        rf"(?P<rest>me to .+)",
        somebody,
        PROJECT,
        wide=True,
    ),
    Predicate(
        "Luna died on Tuesday",
        re.compile(
            r"^(?P<who>[A-Z][^\W\d_]+) (?P<is>died|passed away) (?P<rest>(?:on \w+day|yesterday|last \w+|this \w+"
            r"|\w+ days? ago|on \d+ .+))$"
        ),
        "'s {who} {is} {rest}",
        IDENTITY,
        wide=True,
    ),
    my_state(
        "My Acorn R6 rattles",
        r"(?P<rest>(?-i:[A-Z])[\w-]+(?: (?-i:[A-Z])[\w-]+)? (?-i:[A-Z])?\d+\w{0,2})(?: (?!script|app|code|project"
        r"|server|program|homework|class|exam|version|order|teacher|license).+)?",
        "has the {rest}",
        IDENTITY,
    ),
    my_state(
        "our maintenance window is Sundays at three",
        r"(?P<what>(?:[a-z-]+ )?(?:laptop|computer|phone|car|bike|stack|setup|team|company|shop|app|product|site"
        r"|website|repo|database|backend|frontend|servers?|clusters?|production|staging|window"
        r"|pipeline|school|landlord|boss|manager|doctor|bank|schedule|shifts?|flat|house|kitchen|apartment|dog"
        r"|cat)) (?P<is>is|are|runs? on|lives? in|starts? at|ends? at)"
        r" (?P<rest>(?:called|named|based on|built (?:with|on|in)|written in|hosted (?:on|at)|an? (?!bit|little"
        r"|lot|mess|problem|total|complete|disaster|nightmare|joke|wreck|write-off)|(?:on|in) (?-i:[A-Z])|"
        r"(?-i:[A-Z])|\d(?!\d* (?:points?|percent|minutes|hours|%))|\w+days?\b|(?!on\b|at\b|in\b)[a-z]+ \d|two\b"
        r"|three\b).*)",
        "'s {what} {is} {rest}",
        IDENTITY,
        wide=True,
    ),
    my_state(
        "my sister's name is Asta", rf"(?P<kin>{words.KIN})['’]s name is {NAME}", "'s {kin} is named {rest}", IDENTITY
    ),
    my_state(
        "my wedding is on 5 June",
        rf"(?P<what>{FEW}[a-z]+) (?P<is>is|are|starts?|begins?|takes place) (?P<rest>(?:on|in|at|from) {DAY}.*)",
        "'s {what} {is} {rest}",
        PROJECT,
        wide=True,
    ),
)

IDENTITIES = (*_PERSON, *_BEING, *_OCCUPATION, *_HAVING, *_FAMILY)
