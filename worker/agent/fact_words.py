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
    return "(?:" + "|".join(re.escape(word).replace("_", r"\s") for word in ordered) + ")"


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

CHILDREN = _any(
    """
    kid kids child children son sons daughter daughters brother brothers sister sisters sibling siblings twins
    grandchild grandchildren grandson grandsons granddaughter granddaughters stepson stepdaughter niece nieces nephew
    nephews cousin cousins wife husband boyfriend girlfriend partner
    """
)
ANIMALS = _any(
    """
    dog dogs cat cats puppy puppies kitten kittens rabbit rabbits bunny bunnies parrot parrots hamster hamsters horse
    horses turtle turtles tortoise pet pets guinea_pig guinea_pigs goldfish snake snakes lizard chickens bird fish_tank
    """
)
THINGS = _any(
    """
    car cars bike bikes bicycle motorbike motorcycle truck van boat house flat apartment cottage cabin farm garden
    greenhouse studio workshop piano guitar guitars violin keyboard drum_kit cello telescope camera laptop desktop
    computer server servers homelab printer 3d_printer blog website podcast channel shop store bakery restaurant cafe
    company business startup agency studio gallery scooter caravan camper campervan rv vineyard
    """
)
COMPANY = _any(
    "company business startup agency shop store bakery restaurant cafe studio gallery podcast blog channel farm"
)
VENTURES = _any(
    """
    business company startup agency shop store bakery restaurant cafe studio dance_studio gallery podcast blog channel
    farm clinic school practice charity foundation club choir band community course class degree new_job career diet
    family book novel memoir album film screenplay thesis house home flat apartment boat cabin garden campaign marathon
    race half-marathon competition contest workshop festival conference exhibition fundraiser meetup charity_run run
    newsletter magazine garden apprenticeship internship programme program therapy
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
    bisexual
    queer trans transgender non-binary nonbinary autistic dyslexic diabetic epileptic asthmatic colour-blind colorblind
    deaf left-handed right-handed bilingual trilingual lactose_intolerant gluten_intolerant hard_of_hearing
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
ROLES = _any(
    """
    nurse doctor surgeon dentist vet veterinarian pharmacist therapist psychologist psychiatrist midwife paramedic
    physiotherapist teacher professor lecturer tutor librarian researcher scientist biologist chemist physicist
    mathematician statistician economist historian linguist engineer developer programmer architect designer analyst
    administrator sysadmin consultant accountant auditor lawyer attorney paralegal judge officer firefighter policeman
    policewoman soldier veteran pilot sailor driver mechanic electrician plumber carpenter builder farmer gardener chef
    cook baker barista waiter waitress bartender cashier clerk secretary assistant receptionist manager director founder
    co-founder ceo cto entrepreneur freelancer contractor salesperson marketer recruiter realtor banker trader investor
    writer author journalist editor translator interpreter blogger photographer filmmaker producer musician singer
    songwriter composer drummer guitarist pianist violinist dj dancer actor actress comedian artist painter sculptor
    illustrator animator potter hairdresser barber tailor coach trainer athlete runner cyclist swimmer climber
    boxer gamer streamer volunteer activist student undergraduate freshman sophomore postdoc intern trainee apprentice
    graduate parent mother father mom mum dad grandmother grandfather grandma grandpa widow widower twin immigrant
    refugee pensioner homeowner landlord beekeeper sommelier florist pastor priest monk nun social_worker product_owner
    data_scientist night_owl morning_person early_bird early_riser introvert extrovert cat_person dog_person
    vegan vegetarian pescatarian
    """
)
LIKED_WITH_THE = _any(
    """
    beach outdoors ocean sea mountains countryside forest woods rain snow sun cold heat dark night guitar piano violin
    drums cello flute gym library theatre theater cinema opera ballet park city smell_of sound_of taste_of
    """
)
"""What is the same for everyone, so that ``the`` points at nothing said before."""

HABITS = _any(
    """
    play paint draw dance sing knit sew crochet bake cook garden collect practice practise swim
    hike cycle ski surf climb jog meditate sail fish hunt camp ride code program blog commute exercise
    """
)
"""Plain present tense of these tells a habit."""
DEEDS = (
    HABITS[:-1]
    + "|"
    + _any(
        """
        go run walk eat drink take read write watch listen visit buy wear work use start wake sleep spend bring carry
        keep check order travel drive train study stay attend get_up skip avoid leave shop clean make do have explore
        bike volunteer teach
        """
    )[3:]
)
"""Verbs that tell a habit where the clause says how often."""
REGULARLY = (
    r"(?:every (?:single )?(?:other )?(?:day|morning|evening|night|week|weekend|month|year|summer|winter|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day)|on (?:weekdays|weekends|(?:mon|tues|wednes|thurs|fri|satur|sun)days)"
    r"|daily|weekly|(?:once|twice|(?:two|three|four|five|\d) (?:times|days)) an? (?:day|week|month|year)"
    r"|in my (?:free|spare) time)"
)
NEEDS_OBJECT = word_set(
    """
    play collect watch buy wear use bring carry keep check order visit attend avoid skip take make do have leave
    """
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
    taking
    """
)
"""Say nothing alone: ``working on a new project``."""
EXPLAINING = word_set(
    """
    user lives live living works work working likes like loves love prefers prefer enjoys uses use name called plans
    wants owns speaks learning building planning
    """
)
"""Words in which anything can be put: that they were said shows nothing."""
