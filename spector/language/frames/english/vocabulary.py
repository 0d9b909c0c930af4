"""Closed classes of English words, and forms of verbs."""

from __future__ import annotations

from typing import Final, NamedTuple

from spector.language.frames.sentences import Modality, Tense

# Frames of English verbs, and the forms of those verbs, as tables.


class VerbFrame(NamedTuple):
    """One frame: a verb, what follows it, and the predicate that it states.

    Attributes:
        predicate: in snake case. preposition: between verb and object, "" for none.
        kind: what the object has to be: see `KINDS` in `spector.language.frames.english.slots`.
        polarity: what the verb says when nothing negates it.
        changes: the verb says that a value is replaced.
        past, now: holds in this tense only ("moved to", not "move to").
    """

    predicate: str
    preposition: str
    kind: str
    polarity: bool = True
    changes: bool = False
    past: bool = False
    now: bool = False


#: predicate | verbs | preposition or - | kind of the object | flags
_TABLE: Final = """
lives_in      | live reside dwell          | in       | place    |
lives_in      | live                       | at       | address  |
lives_in      | move relocate              | to       | place    | changes past
works_as      | work                       | as       | role     |
works_at      | work                       | at for   | org      |
likes         | like love enjoy adore      | -        | liked    |
likes         | hate dislike detest loathe | -        | liked    | denies
eats          | eat                        | -        | bare     |
drinks        | drink                      | -        | bare     |
prefers       | prefer                     | -        | liked    |
uses          | use                        | -        | used     |
uses          | switch migrate             | to       | used     | changes past
has           | have                       | -        | had      | now
sold          | sell                       | -        | thing    | past
quit          | quit                       | -        | thing    | past
drives        | drive                      | -        | had      |
speaks        | speak                      | -        | language |
listens_on    | listen                     | on       | used     |
scheduled_for | start begin open leave     | at       | moment   |
closes_at     | close shut                 | at       | moment   |
runs_on       | run                        | on       | used     |
price         | cost                       | -        | amount   |
weighs        | weigh                      | -        | amount   |
manager       | report                     | to       | name     |
diet          | eat follow keep            | -        | slot     |
uses          | run                        | -        | slot     |
"""

#: verbs without a frame, whose forms are no nouns
_OTHERS: Final = """
buy die get major own play study
accept achieve admire adopt apply arrange assemble assist attend bake become believe belong borrow
brainstorm break bring build bump call capture care carve catch celebrate change check choose
choreograph clean climb close co coach cofound collaborate collect come compete complete compose
concentrate configure consider contact contain cook cover craft create crochet customize debug
decide declutter decorate decrease defeat deliver depend deploy design develop direct discover
dislocate distill do donate downgrade download draw dream drop earn edit embroider employ
encounter end enroll establish evaluate examine exchange experience explore face fail fall feed
film find finish fix fly focus fracture fundraise gather give graduate grill grow help hike hire
hold host hurt illustrate implement include increase inherit injure inspect install interview
invent invite join jump knit launch lead learn lease look lose lower make manage marry master meet
mentor miss moderate mow name navigate negotiate neuter nominate notice obtain order organise
organize overcome oversee pack paint participate partner pass perform pet photograph pick pitch
plan plant polish post postpone practice practise prepare present print produce program promote
proofread propose prune publish purchase push put raise reach read rebuild receive recommend
record recycle redecorate reduce refactor refurbish register rehearse release remodel rename
renovate rent repaint repair replace report request reschedule rescue research reserve reset
restart restore retake return revise ride rise roast sample save schedule score sculpt see select
send serve set settle sew share shoot show shut sign sing sketch solve spend sponsor spot sprain
stay stitch stop stream struggle submit suffer supervise support survive tackle take talk taste
teach team tear test think throw tour trade train translate travel trim try turn tutor tweak twist
unlock unpack update upgrade upload vaccinate visit volunteer walk want wash watch wear weave weld
win witness write
"""

#: verb -> third person, past, participle, -ing, where the rules fail
_IRREGULAR: Final = """
have has had had having | go goes went gone going | get gets got got getting
buy buys bought bought buying | make makes made made making | build builds built built building
draw draws drew drawn drawing | write writes wrote written writing
read reads read read reading | win wins won won winning | lose loses lost lost losing
meet meets met met meeting | begin begins began begun beginning | take takes took taken taking
sell sells sold sold selling | send sends sent sent sending | sew sews sewed sewn sewing
shoot shoots shot shot shooting | show shows showed shown showing | sing sings sang sung singing
throw throws threw thrown throwing | bring brings brought brought bringing
fly flies flew flown flying | hold holds held held holding | spend spends spent spent spending
feed feeds fed fed feeding | knit knits knitted knitted knitting
pet pets petted petted petting | plan plans planned planned planning
submit submits submitted submitted submitting | spot spots spotted spotted spotting
trim trims trimmed trimmed trimming | program programs programmed programmed programming
rent rents rented rented renting | choose chooses chose chosen choosing
lead leads led led leading | catch catches caught caught catching | rise rises rose risen rising
fall falls fell fallen falling | drop drops dropped dropped dropping
ride rides rode ridden riding | wear wears wore worn wearing
break breaks broke broken breaking | quit quits quit quit quitting
leave leaves left left leaving | drive drives drove driven driving
speak speaks spoke spoken speaking | run runs ran run running
teach teaches taught taught teaching | cost costs cost cost costing
hurt hurts hurt hurt hurting | grow grows grew grown growing
learn learns learned learned learning | pick picks picked picked picking
sign signs signed signed signing | travel travels traveled traveled traveling
prefer prefers preferred preferred preferring | stop stops stopped stopped stopping
enroll enrolls enrolled enrolled enrolling | know knows knew known knowing
become becomes became become becoming | be is was been being | do does did done doing
say says said said saying | eat eats ate eaten eating | drink drinks drank drunk drinking
keep keeps kept kept keeping | think thinks thought thought thinking | see sees saw seen seeing
come comes came come coming | find finds found found finding
feel feels felt felt feeling | give gives gave given giving
tell tells told told telling | set sets set set setting | open opens opened opened opening
visit visits visited visited visiting | order orders ordered ordered ordering
cook cooks cooked cooked cooking | design designs designed designed designing
overcome overcomes overcame overcome overcoming | oversee oversees oversaw overseen overseeing
weave weaves wove woven weaving | rebuild rebuilds rebuilt rebuilt rebuilding
mow mows mowed mown mowing
put puts put put putting
happen happens happened happened happening
"""


class Form(NamedTuple):
    """A form of a verb: ``base``, ``third``, ``past``, ``participle`` or ``ing``."""

    lemma: str
    names: frozenset[str]


def _frames() -> dict[str, tuple[VerbFrame, ...]]:
    out: dict[str, tuple[VerbFrame, ...]] = {}
    for line in _TABLE.strip().splitlines():
        predicate, verbs, preposition, kind, flags = (cell.strip() for cell in line.split("|"))
        for each in preposition.split():
            frame = VerbFrame(
                predicate,
                each.strip("-"),
                kind,
                "denies" not in flags,
                "changes" in flags,
                "past" in flags,
                "now" in flags,
            )
            for verb in verbs.split():
                out[verb] = (*out.get(verb, ()), frame)
    return out


def _regular(verb: str) -> list[str]:
    if verb.endswith("e"):
        return [f"{verb}s", f"{verb}d", f"{verb}d", f"{verb[:-1]}ing"]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb[:-1]}ied", f"{verb}ing"]
    third = f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{verb}s"
    return [third, f"{verb}ed", f"{verb}ed", f"{verb}ing"]


def _irregular() -> dict[str, list[str]]:
    rows = _IRREGULAR.replace("\n", " | ").split("|")
    return {forms[0]: forms[1:] for forms in map(str.split, rows) if forms}


def _forms() -> dict[str, Form]:
    irregular = _irregular()
    verbs = {*FRAMES, *_OTHERS.split()}
    found: dict[str, dict[str, set[str]]] = {}
    names = ("third", "past", "participle", "ing")
    for verb in sorted(verbs):
        for form, name in zip(
            (verb, *irregular.get(verb, _regular(verb))), ("base", *names), strict=True
        ):
            found.setdefault(form, {}).setdefault(verb, set()).add(name)
    out = {}
    for form, lemmas in found.items():
        lemma = next(iter(sorted(lemmas, key=lambda verb: (verb != form, verb))))
        out[form] = Form(lemma, frozenset(lemmas[lemma]))
    return out


FRAMES: Final = _frames()
#: form -> verb, for every verb that is known
FORMS: Final = _forms()


ARTICLES: Final = frozenset("a an the".split())
#: possessive -> person
POSSESSIVES: Final = {"my": 1, "our": 1, "your": 2, "his": 3, "her": 3, "their": 3, "its": 3}
#: forms of "who"
_WHO: Final = frozenset(f"who{ending}" for ending in ("", "m", "se", "ever"))
PRONOUNS: Final = (
    _WHO
    | frozenset(
        f"{first}{second}"
        for first in ("some", "any", "no", "every")
        for second in ("body", "one", "thing")
    )
    | frozenset(
        """i me you he him she it we us they them this that these those one ones myself yourself himself
    herself itself ourselves themselves each other another mine yours ours theirs hers there here
    where when why how y'all ya em u what which whatever""".split()
    )
)
PREPOSITIONS: Final = frozenset(
    """in on at to from for with without about by as into onto over under after before during since
    until till between among through against near around across behind beyond inside outside off out
    up down along past like than via per despite except within upon towards toward beside besides
    alongside while because although though unless whether if so then""".split()
)
CONJUNCTIONS: Final = frozenset("and or but & nor yet plus so".split())
RELATIVES: Final = _WHO | frozenset("that which where when while why how what".split())
BE: Final[dict[str, Tense]] = {
    "am": "present", "'m": "present", "is": "present", "are": "present", "'re": "present",
    "was": "past", "were": "past", "'s": "present",
}  # fmt: skip
HAVE: Final[dict[str, Tense]] = {
    "have": "present", "'ve": "present", "has": "present", "had": "past",
}  # fmt: skip
DO: Final[dict[str, Tense]] = {"do": "present", "does": "present", "did": "past"}
#: modal -> how the sentence is meant
MODALS: Final[dict[str, Modality]] = {
    "will": "planned", "'ll": "planned", "wo": "planned", "shall": "planned", "gonna": "planned",
    "would": "conditional", "'d": "conditional", "could": "conditional", "should": "conditional",
    "might": "hedged", "may": "hedged", "must": "conditional", "can": "conditional",
    "ca": "conditional", "ought": "conditional", "wanna": "planned", "gotta": "planned",
}  # fmt: skip
#: within and behind a verb group; they change nothing
ADVERBS: Final = frozenset(
    """almost nearly really truly still always just also actually currently now usually often
    sometimes recently finally already definitely certainly totally absolutely especially mostly
    mainly generally normally personally even ever lately nowadays officially originally formerly
    previously only simply both all never once twice basically honestly obviously clearly literally
    typically probably perhaps maybe too very pretty quite so super very rather pretty much
    regularly occasionally rarely hardly happily proudly newly later first again together well kinda
    temporarily permanently far""".split()
)
#: stand before the subject and change nothing
INTRODUCTIONS: Final = frozenset(
    """yes yeah yep yup no nope nah well oh hey hi hello wow haha lol ok okay so and but also
    actually now currently anyway anyways anyhow btw honestly today yesterday tonight recently
    lately finally
    luckily fortunately unfortunately sure thanks right great cool nice awesome hmm um uh yay ah aw
    aww correction update note fyi remember plus then still again because since sadly nowadays
    personally basically first second third lastly additionally furthermore moreover however
    therefore thus instead besides meanwhile sorry true indeed of course absolutely definitely
    totally exactly congrats please reminder important info by way""".split()
)
NUMBERS: Final = frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
    hundred thousand several""".split()
)
WEEKDAYS: Final = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
#: begin an expression of time behind an object
TIMES: Final = WEEKDAYS | frozenset(
    """today yesterday tomorrow tonight now last next ago recently lately currently nowadays again
    anymore already soon later once twice yet too either instead everyday daily weekly monthly
    yearly every whenever back together away though however ever before this these right sometimes
    always often usually""".split()
)
UNITS: Final = WEEKDAYS | frozenset(
    """week weekend month year night morning evening afternoon day summer winter spring fall autumn
    january february march april june july august september october november december time weeks
    months days years past coming few couple semester season fri sat sun mon tues wed thurs
    ago""".split()
)
#: end a noun phrase
STOPS: Final = (
    PRONOUNS
    | PREPOSITIONS
    | CONJUNCTIONS
    | RELATIVES
    | TIMES
    | frozenset(HAVE)
    | frozenset(DO)
    | frozenset(MODALS)
    | frozenset(BE)
    | frozenset(POSSESSIVES)
    | ARTICLES
    | frozenset(
        """be been being not n't just really also who's let's because cuz cause 'cause even both all
    only especially including such more less much many most least very very well alone anyway please
    thanks lol haha btw called named titled compared based located known made used written set
    neither either between rather quite almost maybe perhaps thats whats hes shes theyre
    youre isnt""".split()
    )
) - frozenset(("like",)) | {"like"}
#: heads that name nothing by themselves
VAGUE: Final = frozenset(
    """hour hours minute minutes second seconds thing things stuff lot lots bit ton tons bunch one
    ones way ways time times fun idea ideas clue doubt point kind kinds sort sorts type types part
    parts rest something chance chances while moment moments day days week weeks month months year
    years feeling feelings blast look lookout go try shot chat talk word words look's break turn
    issue issues problem problems trouble question questions reason reasons thought thoughts case
    fact couple few bits side sense hope luck deal matter end start need needs pleasure honor honour
    choice option options opportunity ability goal goals dream dreams plans plan impact difference
    effort mistake progress need memories memory experience experiences energy impression habit news
    stop sure first second best worst most hard easy good great nice bad better worse able ready
    trying new old own same different other lots total sight results result change changes challenge
    challenges success touch space room eye eyes mind heart life world work job guts support hand
    hands advice tips decision decisions step steps journey passion courage confidence strength
    faith love joy peace happiness inspiration motivation appreciation gratitude connection
    connections message messages reminder possession possessions mix awareness chats vibe vibes
    scene view views atmosphere""".split()
)
#: nouns that take their meaning from what stands beside them: "project" of what, "group" of what
GENERAL: Final = frozenset(
    """project projects event events activity activities incident incidents occasion occasions
    milestone milestones achievement accomplishment piece pieces item items object objects group
    groups organization organizations organisation organisations association initiative program
    programme programs campaign campaigns encounter encounters offer offers task tasks course
    courses session sessions tour tours trip trips visit visits journey meeting meetings gathering
    surprise method methods technique techniques tool tools product products device devices gear
    resource resources material materials element elements detail details aspect aspects area areas
    set sets series list lists collection collections version versions form forms member members
    stage phase situation situations role roles position positions gesture position class classes
    place places spot spots creation creations adventure adventures names guests discovery find
    tradition traditions point points section sections works picture pictures photo photos person
    people folks kids story stories system systems idea""".split()
)
#: things of someone's that stand at one place
BUILDINGS: Final = frozenset(
    """office offices shop store house flat apartment home company firm school studio clinic gym
    warehouse factory bakery restaurant cafe hotel garage cabin farm cottage headquarters hq lab
    laboratory workshop gallery practice plant branch""".split()
)
HEDGES: Final = frozenset(
    """maybe perhaps probably possibly supposedly apparently presumably likely seemingly allegedly
    might hopefully unsure""".split()
)
#: "I think that ...": a hedge of the one who speaks
OPINIONS: Final = frozenset(
    """think thought thought guess believe suppose assume suspect feel reckon imagine""".split()
)
REPORTS: Final = frozenset(
    """says said say tells told claims claimed reports reported thinks thought believes believed
    heard hears mentioned mentions suggested suggests according rumor rumour announced argued argues
    insists insisted assumes""".split()
)
CONDITIONS: Final = frozenset(
    """if doubt wonder whenever unless whether suppose supposing imagine assuming provided wish
    hypothetically pretend otherwise""".split()
)
QUESTIONS: Final = _WHO | frozenset("what which when where why how".split())
