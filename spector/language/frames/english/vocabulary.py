"""Words of English grammar that phrases and verb groups are made of."""

from __future__ import annotations

from typing import Final

from spector.language.frames.statement import Modality, Tense

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
