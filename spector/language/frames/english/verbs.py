"""Frames of English verbs, and the forms of those verbs, as tables."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["FORMS", "FRAMES", "PHRASAL", "Form", "VerbFrame", "third_of"]


class VerbFrame(NamedTuple):
    """One frame: a verb, what follows it, and the predicate that it states.

    Attributes:
        predicate: in snake case. preposition: between verb and object, "" for none.
        kind: what the object has to be: see `kinds` in `spector.language.frames.english.objects`.
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
lives_in      | live reside dwell          | in       | place   |
lives_in      | live                       | at       | address |
lives_in      | move relocate              | to       | place   | changes past
lives_in      | settle                     | in       | place   | changes past
died_in       | die                        | in       | place   | past
grew_up_in    | grow-up                    | in       | place   |
works_as      | work                       | as       | role    |
works_at      | work                       | at       | org     |
works_at      | work                       | for      | org     |
manager       | report                     | to       | name    |
health        | suffer                     | from     | thing   |
works_in      | work                       | in       | field   |
works_with    | work                       | with     | group   |
studies       | study major                | -        | field   |
studies       | major                      | in       | field   |
studies_at    | study                      | at       | org     |
graduated_from | graduate                  | from     | org     |
likes         | like love enjoy adore      | -        | liked   |
likes         | hate dislike detest loathe | -        | liked   | denies
eats          | eat                        | -        | food    |
drinks        | drink                      | -        | food    |
prefers       | prefer                     | -        | liked   |
uses          | use                        | -        | used    |
uses          | switch migrate             | to       | used    | changes past
owns          | own                        | -        | thing   |
has           | have                       | -        | had     | now
had           | have                       | -        | lived   | past
had           | have                       | -        | had     | past
drives        | drive                      | -        | vehicle |
speaks        | speak                      | -        | language |
plays         | play                       | -        | played  |
teaches       | teach                      | -        | field   |
coaches       | coach                      | -        | thing   |
collects      | collect                    | -        | thing   |
practices     | practice practise          | -        | field   |
volunteers_at | volunteer                  | at       | org     |
volunteers_with | volunteer                | with     | org     |
supports      | support                    | -        | name    |
runs_on       | run                        | on       | used    |
scheduled_for | start begin open leave     | at       | moment  |
closes_at     | close shut                 | at       | moment  |
is_named      | go                         | by       | name    | now
works_at      | employ                     | at by    | org     |
diet          | eat follow keep            | -        | slot    |
uses          | run                        | -        | slot    |
listens_on    | listen                     | on       | used    |
depends_on    | depend                     | on       | used    |
price         | cost                       | -        | amount  |
weighs        | weigh                      | -        | amount  |
belongs_to    | belong                     | to       | name    |
contains      | contain include            | -        | thing   |
plays_for     | play                       | for      | name    |
signed_with   | sign                       | with     | name    | past
married_to    | marry                      | -        | name    | past
visited       | visit tour explore         | -        | visited | past
visited       | go travel                  | to       | visited | past
attended      | attend                     | -        | event   | past
attended      | go                         | to       | event   | past
joined        | join                       | -        | thing   | past
joined        | participate compete        | in       | event   | past
joined        | sign-up enroll register    | for      | event   | past
bought        | buy purchase order         | -        | thing   | past
bought        | pick-up                    | -        | counted | past
adopted       | adopt rescue               | -        | several | past
received      | receive                    | -        | several | past
got           | get                        | -        | owned   | past
got           | get                        | -        | gotten  | past
went          | go                         | -        | activity | past
goes          | go                         | -        | activity |
does          | do                         | -        | activity | now
ran           | run                        | -        | event   | past
tried         | try                        | -        | trial   | past
saw           | see                        | -        | several | past
celebrated    | celebrate                  | -        | counted | past
passed        | pass                       | -        | course  | past
failed        | fail                       | -        | course  | past
works_on      | work                       | on       | counted |
learns        | learn                      | -        | skill   | now
goes_to       | go                         | to       | gone-to | now
lives_near    | live                       | near     | thing   |
takes         | take                       | -        | course  | now
raised        | raise                      | -        | made    | past
donated       | donate                     | -        | counted | past
found         | find                       | -        | counted | past
applied_to    | apply                      | to       | org     | past
trained_for   | train                      | for      | event   |
served_in     | serve                      | in       | org     | past
hiked         | hike climb                 | -        | visited | past
made          | make bake cook build create craft design | - | made | past
tries         | try try-out                | -        | habit   | now
tried         | try-out                    | -        | counted | past
joined        | participate                | in       | counted | past
painted       | paint draw sculpt          | -        | counted | past
wrote         | write publish compose      | -        | counted | past
read          | read                       | -        | work    | past
watched       | watch                      | -        | work    | past
won           | win                        | -        | counted | past
lost          | lose                       | -        | owned   | past
met           | meet                       | -        | name    | past
started       | start begin launch open    | -        | begun   | past
founded       | establish co-found cofound | -        | thing   | past
finished      | finish complete            | -        | counted | past
organized     | organize organise host     | -        | counted | past
learned       | learn                      | -        | skill   | past
took          | take                       | -        | course  | past
took          | take                       | -        | trip    | past
went_on       | go                         | on       | trip    | past
reads         | read                       | -        | habit   | now
writes        | write                      | -        | habit   | now
paints        | paint draw                 | -        | habit   | now
watches       | watch                      | -        | habit   | now
cooks         | cook bake                  | -        | habit   | now
makes         | make                       | -        | counted | now
builds        | build                      | -        | habit   | now
designs       | design                     | -        | habit   | now
organizes     | organize organise host     | -        | habit   | now
performs      | perform                    | -        | habit   | now
runs          | run                        | -        | company | now
grows         | grow                       | -        | habit   | now
rides         | ride                       | -        | habit   |
follows       | follow                     | -        | habit   | now
wears         | wear                       | -        | habit   | now
trains        | train walk                 | -        | pet     |
restored      | restore repair fix renovate refurbish | - | several | past
mentors       | mentor tutor               | -        | counted |
earned        | earn                       | -        | several | past
led           | lead                       | -        | event   | past
chose         | choose pick select         | -        | counted | past
chose         | go                         | with     | used    | past
chose         | decide settle              | on       | used    | past
taught        | teach                      | -        | event   | past
got_into      | get                        | into     | liked   |
caught        | catch                      | -        | several | past
helped_with   | help                       | with     | counted | past
performed_at  | perform                    | at       | event   | past
spent_time_in | stay                       | in       | name    | past
* | accept achieve arrange assemble capture clean collect contact cover decorate deliver develop \
    encounter experience explore face film gather grow hire hike implement install interview \
    invent invite knit launch negotiate notice pack photograph plan plant post present print \
    produce program promote propose publish reach record rent request rescue research \
    save schedule score sell send sew share shoot show sing sketch solve spot stream submit \
    tackle taste test throw trade translate upload wash witness break borrow bring pitch tour \
    assist defeat download edit grill inherit lease manage master mow nominate obtain \
    oversee polish prepare rebuild recycle redecorate remodel repaint reserve revise roast sample \
    reduce retake brainstorm customize tweak unlock carve weld configure debug refactor deploy \
    evaluate examine inspect embroider crochet distill exchange declutter prune vaccinate neuter \
    rehearse choreograph proofread illustrate fundraise moderate navigate \
    sponsor stitch supervise survive unpack weave overcome restart | - | several | past
* | trim fly host run write draw hold spend pet feed | - | counted | past
broke         | break fracture             | -        | owned   | past
injured       | injure hurt sprain twist tear dislocate | -        | owned   | past
quit          | quit leave                 | -        | owned   | past
performed     | perform                    | -        | counted | past
bought        | purchase                   | -        | thing   | past
released      | release                    | -        | counted | past
directed      | direct                     | -        | work    | past
invented      | invent                     | -        | thing   | past
discovered    | discover                   | -        | several | past
went_to       | go                         | to       | gone-to    | past
did           | do                         | -        | counted | past
helped        | help                       | -        | counted | past
met           | meet                       | -        | several | past
talked_to     | talk speak                 | to with  | counted | past
gave          | give                       | -        | speech  | past
checked_out   | check-out                  | -        | counted | past
took          | take                       | -        | taken   | past
works_on      | work                       | on       | doing   | now
focuses_on    | focus concentrate          | on       | interest | now
struggled_with | struggle                  | with     | interest | past
learned_about | learn                      | about    | interest | past
returned_from | return get-back come-back  | from     | counted | past
talked_about  | talk                       | about    | interest | past
looks_forward_to | look-forward            | to       | interest | now
ran_into      | run                        | into     | counted | past
cares_about   | care                       | about    | interest | now
dreams_of     | dream                      | of about | interest | now
looks_into    | look                       | into     | interest | now
looks_for     | look                       | for      | counted | now
listens_to    | listen                     | to       | liked   | now
watched       | watch                      | -        | event   | past
set_up        | set-up                     | -        | counted | past
lives_with    | live                       | with     | counted |
wants         | want                       | -        | counted | now
admires       | admire                     | -        | counted | now
manages       | manage supervise           | -        | counted | now
misses        | miss                       | -        | considered | now
recommends    | recommend                  | -        | work    | now
believes_in   | believe                    | in       | liked   | now
considers     | consider                   | -        | considered | now
considers     | think                      | about of | doing   | now
plans         | plan                       | -        | counted | now
did           | do                         | -        | activity | past
volunteers_as | volunteer                  | as       | role    |
helped_with   | help-out                   | with     | counted | past
plans         | plan                       | on       | doing   | now
collaborates_with | collaborate team-up partner | with | org     |
drove_through | drive                      | through  | name    | past
travels_through | travel                   | through  | name    |
runs_for      | run                        | for      | field   | now
writes_about  | write                      | about    | interest | now
went_for      | go                         | for      | counted | past
organized     | put-together               | -        | counted | past
signed_up_for | sign-up                    | for      | event   | past
volunteered_at | volunteer                 | at       | org     | past
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

#: verb and particle, written with a hyphen in the table
PHRASAL: Final = {
    ("grow", "up"): "grow-up",
    ("sign", "up"): "sign-up",
    ("pick", "up"): "pick-up",
    ("set", "up"): "set-up",
    ("check", "out"): "check-out",
    ("try", "out"): "try-out",
    ("get", "back"): "get-back",
    ("look", "forward"): "look-forward",
    ("come", "back"): "come-back",
    ("help", "out"): "help-out",
    ("team", "up"): "team-up",
    ("put", "together"): "put-together",
}


class Form(NamedTuple):
    """A form of a verb: ``base``, ``third``, ``past``, ``participle`` or ``ing``."""

    lemma: str
    names: frozenset[str]


def _frames() -> dict[str, tuple[VerbFrame, ...]]:
    out: dict[str, tuple[VerbFrame, ...]] = {}
    for line in _TABLE.replace("\\\n", "").strip().splitlines():
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
                named = frame
                if predicate == "*":  # the verb itself, in the past
                    named = frame._replace(predicate=_past_of(verb))
                out[verb] = (*out.get(verb, ()), named)
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


def _past_of(verb: str) -> str:
    return _irregular().get(verb, _regular(verb))[1]


def third_of(verb: str) -> str:
    """The third person of a verb, which names what goes on now."""
    base, _, particle = verb.partition("-")
    third = _irregular().get(base, _regular(base))[0]
    return f"{third}_{particle}" if particle else third


def _forms() -> dict[str, Form]:
    irregular = _irregular()
    verbs = {verb.partition("-")[0] for verb in FRAMES} | {
        "become",
        "stop",
        "change",
        "turn",
        "name",
        "call",
        "move",
        "end",
        "consider",
        "rename",
        "replace",
        "switch",
        "quit",
        "upgrade",
        "downgrade",
        "push",
        "postpone",
        "reschedule",
        "raise",
        "lower",
        "update",
        "bump",
        "increase",
        "decrease",
        "reduce",
        "reset",
        "rise",
        "fall",
        "drop",
        "climb",
        "jump",
    }
    found: dict[str, dict[str, set[str]]] = {}
    names = ("third", "past", "participle", "ing")
    for verb in sorted(verbs - {"got"}):
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
#: form -> verb, for every verb that has a frame
FORMS: Final = _forms()
