"""Frames of English verbs, and the forms of those verbs, as tables."""

from __future__ import annotations

from typing import Final, NamedTuple


class VerbFrame(NamedTuple):
    """One frame: a verb, what follows it, and the predicate that it states.

    Attributes:
        predicate: in snake case. preposition: between verb and object, "" for none.
        kind: what the object has to be: see `KINDS` in `spector.language.frames.english.kinds`.
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
died_in       | die                        | in       | place    | past
works_as      | work                       | as       | role     |
works_at      | work                       | at for   | org      |
studies       | study major                | -        | field    |
studies       | major                      | in       | field    |
likes         | like love enjoy adore      | -        | liked    |
likes         | hate dislike detest loathe | -        | liked    | denies
eats          | eat                        | -        | bare     |
drinks        | drink                      | -        | bare     |
prefers       | prefer                     | -        | liked    |
uses          | use                        | -        | used     |
uses          | switch migrate             | to       | used     | changes past
owns          | own                        | -        | thing    |
has           | have                       | -        | had      | now
got           | get                        | -        | had      | past
bought        | buy                        | -        | thing    | past
sold          | sell                       | -        | thing    | past
quit          | quit                       | -        | thing    | past
drives        | drive                      | -        | had      |
speaks        | speak                      | -        | language |
plays         | play                       | -        | played   |
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
