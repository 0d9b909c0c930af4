"""Questions that share no word with their answers, in stores full of other talk.

Written by hand for this project, from no data set. Four people each told eighteen things in the
midst of the same chatter; a question's answer is the one line beside it. No two people told about
the same thing, so a question put to another one's store has no answer there.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from bench.recall.shape import DataSet, Item, Question, Store

__all__ = ["CHATTER", "PAIRS", "paraphrases"]

#: who told it -> (cue, what was told)
PAIRS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "Ann": (
        ("Where does she work?", "I joined the bakery on the corner as a cashier."),
        ("What is she allergic to?", "Peanuts make my throat swell up."),
        ("Does she have any pets?", "Our beagle chewed up the sofa again."),
        ("What instrument does she play?", "My cello needs new strings before Sunday."),
        (
            "Which languages does she speak?",
            "Portuguese is my mother tongue, and I manage some Danish.",
        ),
        ("What vehicle does she drive?", "I sold the Honda and bought a moped."),
        ("Is she married?", "Tom and I tied the knot in a tiny chapel."),
        ("What did she study at university?", "My degree is in marine biology."),
        ("What is she afraid of?", "I panic whenever a spider crawls near me."),
        ("How many siblings does she have?", "My two brothers and my baby sister moved abroad."),
        ("What does she drink in the morning?", "An espresso at sunrise gets me going."),
        ("Where did she grow up?", "I spent my childhood in a fishing village near Bergen."),
        ("What illness was she diagnosed with?", "The doctor told me my sugar means diabetes."),
        ("What sport does she do?", "I paddle my kayak down the river every Saturday."),
        ("What is her religion?", "We light candles on Friday evenings and keep Shabbat."),
        ("How much does she earn?", "My paycheck comes to 2,900 euros a month."),
        ("Why is she not sleeping well?", "The drilling next door keeps me awake until three."),
        ("What is she saving money for?", "I put a little aside each week towards a camper van."),
    ),
    "Ben": (
        ("What is his diet?", "I gave up meat and dairy two years ago."),
        ("How did he hurt himself?", "I slipped on the ice and broke my wrist."),
        ("Who is his boss?", "Ms. Okafor leads our department and signs off my holidays."),
        ("What kind of music does he like?", "I have every Miles Davis record on vinyl."),
        ("When was he born?", "I turn forty on the ninth of March."),
        ("Which book is he reading?", "I am halfway through Middlemarch."),
        (
            "Where does he keep his spare key?",
            "For emergencies there is a copy under the blue flowerpot.",
        ),
        ("What are his political views?", "I vote for the Greens in every election."),
        (
            "What did he get for his anniversary?",
            "Clara surprised me with a telescope after our ten years together.",
        ),
        ("What computer does he use?", "My old ThinkPad runs Debian."),
        ("Which football team does he support?", "I never miss a match when Galatasaray are on."),
        ("What time does he go to bed?", "Lights are out by half past nine in my room."),
        ("Does he smoke?", "My last cigarette was on New Year's Eve."),
        ("What medication does he take?", "I swallow a small pill of lisinopril at breakfast."),
        ("What is he learning to cook?", "I burned my third batch of ramen broth."),
        ("What happened to his parents?", "Mum and Dad split up when I was six."),
        ("How tall is he?", "I am six foot three in socks."),
        ("What career does he dream of?", "One day I would love to be a pilot."),
    ),
    "Cem": (
        ("Where am I going on vacation?", "We booked two weeks on Crete in July."),
        ("Who is my dentist?", "Dr. Lindqvist filled two of my teeth."),
        ("What is my house like?", "We have three bedrooms and a tiny garden."),
        ("What was I collecting?", "I own four hundred stamps from the Ottoman era."),
        ("How did I meet my girlfriend?", "Elif and I got talking in a queue for tickets."),
        ("Which video game am I playing?", "I reached the second island in Zelda last night."),
        ("What is my favourite colour?", "Anything teal makes me happy, I even painted the door."),
        ("Which bank am I with?", "I opened a current account at Revolut."),
        ("Did I have an accident?", "A truck hit me from behind on the motorway."),
        ("What did my grandfather leave me?", "Opa's will gave me the gold pocket watch."),
        ("What am I building?", "The treehouse still lacks a roof and a ladder."),
        ("Which weather was I complaining about?", "Humid heat makes me miserable."),
        ("How have I been relaxing?", "A long bath with candles calms me down."),
        ("Do I have children?", "Our twins start kindergarten in August."),
        ("What did I lose?", "My passport has vanished somewhere at the airport."),
        ("Which subject was hardest for me at school?", "I failed algebra twice."),
        ("What is the wifi password?", "Type sunflower77 to get online at my place."),
        ("Where did I put the documents?", "The papers are in the second drawer of the oak desk."),
    ),
    "Dana": (
        ("Which city does she live in?", "We moved to Lisbon, right by the tram stop."),
        ("What is her favourite dish?", "Nothing beats a plate of lasagne."),
        ("What volunteering does she do?", "On Thursdays I serve soup at the homeless shelter."),
        ("How did her exam go?", "I passed with the second best grade in the class."),
        ("What is she writing?", "Chapter nine of my novel is finally drafted."),
        ("Who is her best friend?", "Ines and I have shared every secret since we were five."),
        ("What operation did she have?", "They took out my appendix in May."),
        ("What phone does she own?", "My Pixel fell into the sink."),
        ("Did she win anything?", "First prize went to my pumpkin at the fair."),
        ("What plants does she grow?", "The tomatoes and basil on the balcony are thriving."),
        ("Which film did she see?", "We watched Casablanca at the open-air cinema."),
        ("What bad habit does she have?", "I bite my nails whenever I am nervous."),
        ("Why did she quit her job?", "I resigned because my manager kept shouting at everyone."),
        ("What size are her shoes?", "I need boots in 39."),
        ("What does she wear to parties?", "My red velvet gown comes out for every celebration."),
        (
            "How is the relationship with her father?",
            "Dad and I have not spoken since the funeral.",
        ),
        ("What tattoo does she have?", "A swallow is inked on my left shoulder."),
        ("What does her daughter study?", "Mia is in her second year of law."),
    ),
}

#: talk that answers none of the questions, one line a turn
CHATTER: Final = tuple(
    line.strip()
    for line in """
The bus was late again this morning.
They said it might rain until Thursday.
Did you notice the new mural on the station wall?
Somebody left an umbrella in the meeting room.
The lift is out of order on the third floor.
I could not find a parking space anywhere.
That bridge will be closed for repairs next week.
Our printer jams whenever it is cold.
The library extended its opening hours.
There was a long queue at the post office.
My umbrella turned inside out in the wind.
The street lamps went on at four.
What a strange sky this evening!
The new roundabout confuses everybody.
Someone painted the fence bright yellow.
The museum has an exhibition about bridges.
I still have to answer that letter from the council.
The fog did not lift before noon.
They moved the bins behind the shed.
The escalator has been stuck since Monday.
A delivery came for the people upstairs.
The clock in the hall is five minutes fast.
The heating makes an odd noise.
We ran out of envelopes.
The shop around here sells odd socks only.
That documentary about glaciers was long.
The pigeons are back on the ledge.
I had to restart the router three times.
Nobody has touched the crossword yet.
The ferry does not run in winter.
The queue moved faster than I thought.
There is chewing gum under this table.
The choir next to us rehearses loudly.
They changed the timetable without telling anyone.
The puddle in the yard is frozen over.
My neighbour's hedge needs cutting.
The radio said there was a traffic jam.
The market was quiet because of the storm.
I keep forgetting to descale the kettle.
The kettle whistles in two tones.
That shelf is not straight.
The carpet arrived in the wrong shade.
The invoice had a typo in it.
We waited an hour for the plumber.
A fox crossed the car park at dusk.
The leaves are blocking the gutter.
The elevator music drives visitors mad.
The calendar on the wall shows last year.
There were balloons all over the square.
The bench by the pond has been mended.
The fountain is switched off until spring.
They are digging up the pavement once more.
The receipts got wet in my bag.
I cannot open this jar.
The stapler is empty.
The window squeaks when it opens.
Someone rang the bell and ran away.
The snow melted before we could use the sledge.
It took ages to defrost the freezer.
The scaffolding came down at last.
The tiles in the corridor are slippery.
The streetcar stopped between two stations.
The quiz was harder than usual.
A balloon got stuck in the tree.
The vending machine swallowed my coin.
The projector bulb burned out.
The gate does not close by itself.
A new baker's oven is on display in the window of the hardware store.
The curtains have faded.
Two seagulls fought over a chip.
The orchard path is muddy.
They planted lavender along the railway.
The trolley has a wobbly wheel.
The concert hall is being renovated.
The photo frame fell off the wall.
Their website was down all afternoon.
The batteries of the remote are flat.
The lighthouse is open to visitors in June.
The barber has moved across the street.
That joke was older than the hills.
The mayor opened the playground.
The newspaper printed the wrong date.
My glasses steam up when I come in.
The parcel was left in the rain.
The train to the coast is cheaper on weekdays.
The doormat says welcome in four alphabets.
The soup of the canteen was too salty.
The rake is leaning against the shed.
I swept the stairs yesterday.
The moon was huge tonight.
The tap in the kitchen drips.
They ran out of programmes at the theatre.
The ladder belongs to the caretaker.
The crossing has new lights.
Someone forgot a scarf on the tram.
The thunder came closer and closer.
The bakery queue reached the corner.
A kite was caught in the power lines.
The bus driver waved at us.
The stairwell smells of paint.
The car alarm went off at night.
The poster for the flea market is up.
The drawer of the printer is jammed.
Our street was swept this morning.
The chestnuts are falling.
The tourists asked for the way to the castle.
The swings are wet.
The attic window does not shut.
The tape ran out in the middle of packing.
A hedgehog lives under the woodpile.
The wind blew the sign over.
The sports hall is used as a polling station.
The power went out for a minute.
The glue takes a day to dry.
The signpost points the wrong way.
The jigsaw lacks one piece.
The postman comes later on Saturdays.
The coffee machine wants to be cleaned.
A helicopter circled over the harbour.
The cupboard door hangs loose.
The sirens were only a test.
The hay is already in.
The benches were repainted green.
The tower has two hundred steps.
The cheese counter closes early.
The canal was drained for inspection.
The bookshelf arrived without screws.
The pond is covered with duckweed.
The lid does not fit that pot.
The snowman lost its carrot.
The tent is drying in the hallway.
The raspberry canes need tying up.
The copy shop raised its prices.
The conductor checked nobody.
The bees swarmed near the school.
The paint on the bench is still wet.
The hose is leaking at the joint.
The toaster only does one side.
A branch fell on the path.
The zip of the tent is stuck.
They handed out flyers at the crossing.
The neon sign flickers.
The hall echoes when it is empty.
The bins are collected on Tuesday now.
The last page of the manual is missing.
The tide was unusually low.
The shop assistant was new.
The bread knife is blunt.
The mirror in the lift is cracked.
The picnic tables were all taken.
The rehearsal was moved to the cellar.
The taxi took the long way.
The chimney sweep comes on Wednesday.
The flags were at half mast.
The sand pit was refilled.
The train was split in two halfway.
The weather vane is stuck.
The fence post rotted away.
The handle came off the suitcase.
The marathon blocks the centre on Sunday.
The clouds look like cauliflower.
The bell tower is leaning a bit.
The radiator needs bleeding.
The bus shelter has a new roof.
The cable was too short by a metre.
The menu is only on a screen these days.
The ice on the lake is thin.
The dishwasher beeps three times.
The corridor light goes off too soon.
The magpies stole a spoon.
The map in the underpass is outdated.
The fair comes to town in autumn.
The queue for the slide was endless.
The wheelbarrow has a flat tyre.
The key on this keyboard sticks.
The frost cracked a flagstone.
The cable car is in revision.
The paper cups are gone.
The statue wears a traffic cone.
The chalk on the board is hard to read.
The bicycle stand is full.
The doors of the train close quickly.
The river is high after the rain.
The pasta aisle was empty.
The shutters rattle at night.
The tickets are printed on both sides.
Sounds good to me.
That is hilarious!
Oh no, what a pity.
Sure, let us do that on Monday.
I will let you know as soon as I hear more.
You should have seen their faces.
Let me check that for you.
Here is a short summary of what we said.
Anything else that I can help with?
Good luck tomorrow!
Tell me more about it.
I was thinking the same thing.
Thanks, that helps a lot.
Right, I had forgotten about that.
Let us talk about it next time.
That must have been a surprise.
It depends on how long it takes.
I would rather wait and see.
That is a fair point.
Could you repeat that, please?
It is not as easy as it looks.
""".strip().splitlines()
)

_BEGIN: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
#: turns of a session
_SESSION: Final = 12


def paraphrases() -> DataSet:
    """A store for each person; a question's answer stands somewhere in the middle of the talk."""
    stores, questions = [], []
    for person, pairs in PAIRS.items():
        named = person != "Cem"  # who asks himself; the others are asked about
        told = _spread([text for _, text in pairs], CHATTER)
        items = tuple(
            Item(
                id=str(n),
                text=text,
                speaker=_speaker(person, n, text in CHATTER, named),
                session=f"s{n // _SESSION}",
                order=n,
                time=_BEGIN + timedelta(days=n // _SESSION, minutes=n % _SESSION),
            )
            for n, text in enumerate(told)
        )
        stores.append(Store(person, items))
        place = {item.text: item.id for item in items}
        questions += [
            Question(
                f"{person}-{n}",
                person,
                cue,
                "paraphrase",
                (place[text],),
                items[-1].time + timedelta(days=1) if items[-1].time else None,
                person,
            )
            for n, (cue, text) in enumerate(pairs)
        ]
    return DataSet(
        "paraphrases",
        "paraphrases, written here",
        tuple(stores),
        tuple(questions),
        ("cue and answer share no word that is not a stop word",),
    )


def _spread(facts: list[str], chatter: tuple[str, ...]) -> list[str]:
    """Facts at even distances between the chatter."""
    step = len(chatter) // len(facts)
    told: list[str] = []
    for n, line in enumerate(chatter):
        if n % step == step // 2 and n // step < len(facts):
            told.append(facts[n // step])
        told.append(line)
    return told


def _speaker(person: str, n: int, chatter: bool, named: bool) -> str:
    if chatter and n % 2:
        return "Kim" if named else "assistant"
    return person if named else "user"
