"""Words by which the extractive agent recognises what lasts: people, belongings, roles, conditions, tongues.

Written by hand, as alternatives for patterns. A word that is missing costs a statement; one that is ambiguous would
make a wrong one, so such words are left out.
"""

from __future__ import annotations

import re

from shared.text.words import word_set


def _any(words: str) -> str:
    """Return an alternative of the words, the longest first; ``_`` stands for a space."""
    ordered = sorted(set(words.split()), key=lambda word: (-len(word), word))
    return "(?:" + "|".join(re.escape(word).replace("_", r"[\s-]") for word in ordered) + ")"


KIN = _any(
    """
    wife husband spouse fiance fiancé fiancee fiancée partner girlfriend boyfriend son sons daughter daughters kid kids
    child children baby toddler twins brother brothers sister sisters sibling siblings mom mum mother dad father parents
    grandma grandmother grandpa grandfather grandparents grandson granddaughter grandchildren aunt uncle nephew nieces
    niece nephews cousin cousins stepson stepdaughter stepmother stepfather mother-in-law father-in-law
    brother-in-law sister-in-law oldest_son youngest_son eldest_son oldest_daughter youngest_daughter eldest_daughter
    older_brother younger_brother older_sister younger_sister big_brother little_brother big_sister little_sister
    dog dogs cat cats puppy puppies kitten kittens rabbit rabbits parrot parrots hamster horse horses turtle turtles
    """
)
"""Family and animals of one's own."""

ACQUAINTANCE = _any(
    """
    friend best_friend boss manager colleague coworker co-worker flatmate roommate neighbour neighbor landlord landlady
    tutor coach teacher therapist doctor gp dentist accountant lawyer godson goddaughter godchild ex in-laws
    """
)
MEN = _any(
    """
    husband fiance fiancé boyfriend son dad father grandpa grandfather grandson uncle nephew stepson stepfather
    father-in-law brother-in-law brother landlord godson
    """
)
WOMEN = _any(
    """
    wife fiancée fiancee girlfriend daughter mom mum mother grandma grandmother granddaughter aunt niece stepdaughter
    stepmother mother-in-law sister-in-law sister landlady goddaughter
    """
)
ANIMALS = _any(
    """
    dog dogs pup pups cat cats puppy puppies kitten kittens kitty rabbit rabbits bunny bunnies parrot parrots
    hamster hamsters horse horses turtle turtles tortoise pet pets guinea_pig guinea_pigs goldfish snake snakes
    lizard chickens bird fish_tank
    """
)
THINGS = _any(
    """
    car cars bike bikes bicycle motorbike motorcycle truck van boat house flat apartment cottage cabin farm garden
    greenhouse studio workshop piano guitar guitars violin keyboard drum_kit cello telescope camera homelab
    3d_printer blog podcast shop store bakery restaurant cafe induction balcony allotment oven freezer dishwasher
    microwave tv lift licence driving_licence company business startup agency gallery scooter caravan camper
    campervan rv vineyard
    """
)
VENTURES = _any(
    """
    business company startup agency shop store bakery restaurant cafe studio dance_studio gallery podcast blog channel
    farm clinic school practice charity foundation club choir band community course class degree new_job career diet
    family book novel memoir album film screenplay thesis house home flat apartment boat cabin garden campaign marathon
    race half-marathon competition contest workshop festival conference exhibition fundraiser meetup charity_run run
    newsletter magazine apprenticeship internship programme program therapy team vineyard
    """
)
"""What takes weeks to begin or to hold."""
MOMENTARY = _any(
    """
    file files function functions loop loops container containers server servers script scripts query queries command
    commands request requests image images branch branches commit commits test tests regex button buttons table tables
    variable variables list lists string strings error errors bug bugs backup backups terminal shell pod div page email
    message messages letter paragraph sentence sentences text reply response question questions tab window spreadsheet
    column columns row rows dockerfile dinner lunch breakfast cake soup salad coffee sandwich
    """
)
CONDITIONS = _any(
    """
    asthma diabetes type_1_diabetes type_2_diabetes adhd add autism dyslexia epilepsy arthritis migraines insomnia
    anxiety depression ptsd ocd hypertension high_blood_pressure celiac_disease coeliac_disease crohn's_disease ibs
    eczema psoriasis anemia anaemia tinnitus endometriosis fibromyalgia scoliosis sleep_apnea hay_fever
    lactose_intolerance gluten_intolerance heart_condition pacemaker peanut_allergy nut_allergy
    """
)
STATES = _any(
    """
    single married engaged divorced widowed separated retired self-employed unemployed pregnant adopted gay lesbian
    bisexual queer trans transgender non-binary nonbinary autistic dyslexic diabetic epileptic asthmatic
    colour_blind color_blind colourblind colorblind short-sighted deaf left_handed right_handed in_a_wheelchair
    between_jobs coeliac celiac bilingual trilingual lactose_intolerant gluten_intolerant hard_of_hearing
    an_only_child an_immigrant an_orphan
    """
)
DIETS = _any("vegan vegetarian pescatarian vegetarians vegans teetotal gluten-free plant-based keto")
FAITHS_AND_NATIONS = _any(
    """
    christian catholic protestant orthodox muslim jewish hindu buddhist sikh atheist agnostic
    american british english scottish welsh irish canadian australian danish swedish norwegian finnish icelandic german
    austrian swiss dutch belgian french spanish portuguese italian greek turkish polish czech slovak hungarian romanian
    bulgarian serbian croatian bosnian slovenian albanian ukrainian russian lithuanian latvian estonian georgian
    armenian
    israeli lebanese syrian iraqi iranian persian saudi egyptian moroccan algerian tunisian nigerian ghanaian kenyan
    ethiopian somali south_african indian pakistani bangladeshi nepali sri_lankan chinese taiwanese japanese korean
    vietnamese thai cambodian malaysian singaporean indonesian filipino mexican brazilian argentinian chilean colombian
    peruvian venezuelan cuban jamaican puerto_rican european african asian latino latina hispanic
    """
)
TONGUES = _any(
    """
    english spanish french german italian portuguese dutch danish swedish norwegian finnish icelandic polish czech
    slovak
    hungarian romanian bulgarian serbian croatian greek turkish russian ukrainian arabic hebrew farsi persian hindi urdu
    bengali punjabi tamil telugu chinese mandarin cantonese japanese korean vietnamese thai indonesian malay tagalog
    swahili latin catalan basque welsh irish sign_language esperanto
    """
)
LIKED_WITH_THE = _any(
    """
    beach outdoors ocean sea mountains countryside forest woods rain snow sun cold heat dark night guitar piano violin
    drums cello flute gym library theatre theater cinema opera ballet park city smell_of sound_of taste_of
    """
)
"""What is the same for everyone, so that ``the`` points at nothing said before."""

MOMENT = re.compile(
    rf"^(?:an?|the|my|our|some|two)?\s*(?:[\w-]+ ){{0,3}}?{MOMENTARY}(?:$|,| (?:that|which|to|for|in|with|from"
    rf"|called|named"
    r"|of|on|and|at|using|where|so)\b)",
    re.IGNORECASE,
)
"""What is under way at a keyboard or a table this minute."""
NOBODY = (
    r"(?:bit|little|lot|few|mix|customer of yours|mess|wreck|fool|idiot|coward|failure|fan$|friend$|human|\d+|minute"
    r"|couple|million|ton)\b"
)
"""What somebody who says ``I am a …`` does not say of who they are."""
LASTING = _any(
    """
    play paint draw dance sing knit sew crochet bake cook garden collect practice practise swim hike cycle ski surf
    climb jog meditate sail fish hunt camp ride drive code program blog commute exercise own breed volunteer coach
    mentor teach smoke rent cowork co-own eat drink deploy host
    """
)
"""Plain present tense of these tells how somebody lives; of other verbs, where the clause says how often."""
NOT_A_HABIT = word_set(
    """
    think guess hope know see mean feel wonder believe understand agree remember forget thank apologise apologize
    promise say tell ask suppose get appreciate look hear find bet swear admit wish doubt imagine notice seem sound
    come let give put add fix expect assume recommend suggest want need just love like enjoy prefer hate always
    never often usually rarely regularly mostly only also am are is was were have has had do did does can could will
    would shall should may might must cannot not been went got made took came saw knew thought felt found left lost
    told gave kept ran ate drank drove wrote read spoke bought brought met sat stood slept paid sent heard held
    began became broke chose fell forgot grew led understood won sold spent said put set cut hit let quit
    """
)
"""Of the mind and the moment, helping verbs, and past forms that do not end in ``ed``."""
REGULARLY = (
    r"(?:every (?:single )?(?:other )?(?:day|morning|evening|night|week|weekend|month|year|summer|winter|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)|on (?:weekdays|weekends|(?:mon|tues|wednes|thurs|fri|satur|sun)days)"
    r"|daily|weekly|at night\b|nights\b|in the (?:morning|afternoon|evening)s?\b|in (?:winter|summer|spring"
    r"|autumn)\b|since\b"
    r"|(?:once|twice|(?:two|three|four|five|\d) (?:times|days)) an? (?:day|week|month|year)"
    r"|in my (?:free|spare) time)"
)
FEARS = _any(
    """
    heights flying the_dark spiders snakes dogs needles public_speaking water deep_water clowns enclosed_spaces insects
    thunder thunderstorms elevators crowds bees mice
    """
)
HOLLOW = word_set(
    """
    project projects skill skills thing stuff something item items piece set kind type one two three few ton
    tons bunch company place different various several certain cool own job jobs day days week weeks month
    months year years time times today lately recently now trying try doing making being having going getting
    taking sorry oops whoops typo pardon please thanks thank
    """
)
"""Say nothing alone: ``working on a new project``."""
INTERJECTIONS = word_set(
    """
    sorry oops whoops typo pardon please thanks thx ok okay yes no nope yeah yep nothing nevermind danke bitte ja nein
    merci oui non gracias sí wrong right haha lol that this it something else
    """
)
"""No value of anything."""
EXPLAINING = word_set(
    """
    user lives live living works work working likes like loves love prefers prefer enjoys uses use name called plans
    wants owns speaks learning building planning
    """
)
"""Words in which anything can be put: that they were said shows nothing."""
_SMALL_WORDS = {
    "de": "ich und der die das nicht ist ein eine mit auch auf wir mein meine bin habe hab zu für mir bitte kein seit",
    "fr": "je j le la les des est une un pas avec mon ma mes suis ai pour dans que qui du nous au vous ne sur depuis",
    "es": "yo y el la los las es una un con mi mis soy tengo para en que del por estoy muy pero gusta desde",
    "en": "i and the is my to of it you we are have for with not that this but our at they if he from",
}
SMALL_WORDS = {language: word_set(listed) for language, listed in _SMALL_WORDS.items()}
_LETTERS = re.compile(r"[^\W\d_]+")
_KANA = re.compile(r"[\u3040-\u30ff]")


def language_of(text: str) -> str:
    """Return the language of a text by its small words: ``de``, ``fr``, ``es``, ``ja``, or ``en`` where in doubt."""
    if _KANA.search(text):
        return "ja"
    said = _LETTERS.findall(text.lower())
    counts = {language: sum(word in small for word in said) for language, small in SMALL_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] > counts["en"] else "en"
