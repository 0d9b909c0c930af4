"""Which later statement takes the place of an earlier one, and which is only like it.

Mechanism: of two statements that are alike and answer one question the later one was taken for
newer unless a list of signs spoke against it. Damage: "Ayla's husband works at Philips" came before
"Ayla works at Shell", a language that was added was marked as newer than the other one, and what
was once ("I lived in Munich") overruled what is. Guard: pairs in both languages of which the form
says that one replaces the other, and more that are lists, somebody else's, of the past, only hoped
for, or of another kind of answer.
"""

from __future__ import annotations

import time

import pytest

from spector.language.statements.versions import ChangeKind, Question, Statement, StatementPair

#: (earlier, later, question): the later one answers it anew
ANEW = (
    ("I live in Munich.", "I live in Berlin.", "Where do I live?"),
    ("I live in Munich.", "I moved to Berlin.", "Where do I live?"),
    ("I live in Munich.", "I live in Berlin now.", "Where do I live?"),
    ("I work at Shell.", "I work at Philips.", "Where do I work?"),
    ("Ayla works at Shell.", "Ayla works at Philips.", "Where does Ayla work?"),
    ("Ayla works at Shell.", "Ayla now works at Philips.", "Where does Ayla work?"),
    ("My doctor is Dr. Ito.", "My doctor is Dr. Chen.", "Who is my doctor?"),
    ("My rent is 900 euros.", "My rent is 950 euros.", "What is my rent?"),
    ("My rent is 900 euros.", "My rent is 950 euros.", "How much is my rent?"),
    ("My rent is 900 euros.", "My rent went up to 950 euros.", "How much is my rent?"),
    ("My rent is 900 euros.", "My rent is now 950 euros.", "How much rent do I pay?"),
    ("My weight is 82 kg.", "My weight is 79 kg.", "What is my weight?"),
    ("I weigh 82 kg.", "I weigh 79 kg.", "How much do I weigh?"),
    ("I weigh 82.5 kg.", "I weigh 79.1 kg.", "What is my weight?"),
    ("Weight: 82 kg", "Weight: 79 kg", "What is my weight?"),
    ("I like coffee.", "I don't like coffee anymore.", "Do I like coffee?"),
    (
        "My favourite colour is blue.",
        "My favourite colour is green.",
        "What is my favourite colour?",
    ),
    ("The spare key is under the mat.", "The spare key is in the shed.", "Where is the spare key?"),
    ("My exam is on Monday.", "My exam moved to Friday.", "When is my exam?"),
    ("Kiram 900 lira.", "Kiram 950 lira.", "Kiram ne kadar?"),
    ("Kiram 900 lira.", "Kiram 950 liraya yükseldi.", "Kiram ne kadar?"),
    ("82 kiloyum.", "79 kiloyum.", "Kaç kiloyum?"),
    ("Kilom 82.", "Kilom 79.", "Kilom kaç?"),
    ("Doktorum Ahmet Bey.", "Doktorum Ayşe Hanım.", "Doktorum kim?"),
    ("Ankara'da yaşıyorum.", "İzmir'de yaşıyorum.", "Nerede yaşıyorum?"),
    ("Ankara'da yaşıyorum.", "İzmir'e taşındım.", "Nerede yaşıyorum?"),
    ("Wifi şifresi kedi123.", "Wifi şifresi köpek456.", "Wifi şifresi ne?"),
    ("My job is teaching.", "My job is nursing.", "What is my job?"),
    ("Günde 20 mg alıyorum.", "Günde 10 mg alıyorum.", "Günde kaç mg alıyorum?"),
    ("My manager is Ann.", "Bob is my manager now.", "Who is my manager?"),
    ("My flight leaves at 9:40.", "My flight leaves at 11:15.", "When does my flight leave?"),
    ("Our office is in Elm Street.", "Our office moved to Oak Street.", "Where is our office?"),
    (
        "The deploy window is 9 to 11.",
        "The deploy window is 13 to 15.",
        "What is the deploy window?",
    ),
    ("My goal is to run 10 km.", "My goal is to run 21 km.", "What is my goal?"),
    (
        "I go to the gym on Mondays.",
        "I no longer go to the gym on Mondays, I go on Fridays.",
        "When do I go to the gym?",
    ),
    ("Evim Kadıköy'de.", "Evim Beşiktaş'ta.", "Evim nerede?"),
    ("Toplantı 10'da.", "Toplantı 11'de.", "Toplantı saat kaçta?"),
    ("My boss is Ann.", "My boss is Tom.", "Who is my boss?"),
    ("I live in Rome.", "I've moved to Oslo.", "Where do I live?"),
    ("I live in Rome.", "We just moved to Oslo.", "Where do I live?"),
    ("The API limit is 100 requests.", "The API limit is 200 requests.", "What is the API limit?"),
    (
        "The staging server is at 10.0.0.1.",
        "The staging server is at 10.0.0.9.",
        "Where is the staging server?",
    ),
    (
        "My password hint is blue whale.",
        "My password hint is red fox.",
        "What is my password hint?",
    ),
    (
        "Ann's phone number is 555-0101.",
        "Ann's phone number is 555-0202.",
        "What is Ann's phone number?",
    ),
    (
        "The plan costs 20 dollars a month.",
        "The plan costs 25 dollars a month.",
        "How much does the plan cost?",
    ),
    ("Maaşım 40000 lira.", "Maaşım 52000 lira oldu.", "Maaşım ne kadar?"),
    ("Annem Bursa'da yaşıyor.", "Annem artık İzmir'de yaşıyor.", "Annem nerede yaşıyor?"),
    ("Annem Bursa'da yaşıyor.", "Annem İzmir'de yaşıyor.", "Annem nerede yaşıyor?"),
    ("The meeting is at 10:00.", "The meeting moved to 11:30.", "When is the meeting?"),
    ("I take the 7:40 train.", "I take the 8:10 train now.", "Which train do I take?"),
    ("I eat meat.", "I no longer eat meat.", "Do I eat meat?"),
    ("I have 2 cats.", "I have 3 cats.", "How many cats do I have?"),
    ("The rent is 900 euros.", "The rent is 950 euros.", "How much is the rent?"),
    ("My son is in year 3.", "My son is in year 4.", "Which year is my son in?"),
    ("I'm based in Rome.", "I'm based in Oslo.", "Where am I based?"),
)
#: the later one is a list's next entry, somebody else's, of the past, or about something else
BESIDE = (
    ("Ayla works at Shell.", "Ayla's husband works at Philips.", "Where does Ayla work?"),
    ("Ayla works at Shell.", "Ayla's husband now works at Philips.", "Where does Ayla work?"),
    ("I live in Berlin now.", "I lived in Munich as a child.", "Where do I live?"),
    ("I live in Berlin.", "I lived in Munich.", "Where do I live?"),
    ("I like coffee.", "I like coffee ice cream.", "What do I like?"),
    ("I like coffee.", "I like coffee ice cream.", "Do I like coffee?"),
    ("I speak Dutch.", "I speak Turkish.", "Which languages do I speak?"),
    ("I speak Dutch.", "I speak Turkish.", "What languages do I speak?"),
    ("I speak Dutch.", "I speak Turkish.", "Which language do I speak?"),
    ("I speak Dutch.", "I speak Turkish.", "What do I speak?"),
    ("My cat is called Miso.", "My cat is called Pixel.", "What is my cat called?"),
    ("I have a cat called Miso.", "I have a cat called Pixel.", "What is my cat's name?"),
    ("I have a cat called Miso.", "I have a cat called Pixel.", "What is my cat called?"),
    ("My cat Miso is black.", "My cat Pixel is white.", "What colour is my cat?"),
    ("My cat is called Miso.", "My cat is called Pixel.", "What are my cats called?"),
    ("My cat's name is Miso.", "My cat's name is Pixel.", "What is my cat's name?"),
    ("My maths exam is on Monday.", "My physics exam is on Friday.", "When is my exam?"),
    ("I have an exam on Monday.", "I have an exam on Friday.", "When is my exam?"),
    ("I have an exam on 3 May.", "I have an exam on 10 May.", "When do I have an exam?"),
    ("The maths exam is on 3 June.", "The history exam is on 9 June.", "When is the exam?"),
    ("My salary is 3000 euros.", "I paid 900 euros for the sofa.", "What is my salary?"),
    ("My salary is 3000 euros.", "My salary tax is 900 euros.", "What is my salary?"),
    ("I work at Shell.", "My boss now works at Philips.", "Where do I work?"),
    ("I work at Shell.", "I heard Tom now works at Philips.", "Where do I work?"),
    ("I work at Shell.", "I worked at Philips for years.", "Where do I work?"),
    ("I work at Shell.", "I moved my desk to the window at work.", "Where do I work?"),
    ("Our landlord is Mr. Brandt.", "Our landlord is on holiday.", "Who is our landlord?"),
    ("Our landlord is Mr. Brandt.", "Our landlord is now on holiday.", "Who is our landlord?"),
    ("Our landlord is Mr. Brandt.", "Our landlord changed the locks.", "Who is our landlord?"),
    ("I am allergic to nuts.", "I am allergic to shellfish.", "What am I allergic to?"),
    ("Ayla is allergic to nuts.", "Ayla is allergic to cats.", "What is Ayla allergic to?"),
    ("I like tea.", "I now also like coffee.", "What do I like?"),
    ("I like tea.", "I like coffee now.", "What do I like?"),
    ("I like coffee.", "I don't like beer.", "What do I like?"),
    ("I play the piano.", "I play the violin.", "Which instrument do I play?"),
    ("I swim on Mondays.", "I swim on Thursdays.", "When do I swim?"),
    ("My sister is a nurse.", "My sister's cat is a tabby.", "What is my sister?"),
    ("I own a flat in Rome.", "I own a flat in Oslo.", "Where do I own a flat?"),
    ("My phone number is 555-0101.", "My new phone is a Pixel 9.", "What is my phone number?"),
    (
        "My son goes to Elm School.",
        "My daughter goes to Oak School.",
        "Where does my son go to school?",
    ),
    ("My brother lives in Rome.", "My sister lives in Oslo.", "Where does my brother live?"),
    ("The key is under the mat.", "The spare key is at Ann's.", "Where is the key?"),
    ("My dentist is Dr. Ito.", "My dentist's assistant is Ms. Roe.", "Who is my dentist?"),
    ("I take 20 mg of Lisol.", "I take 50 mg of Zyrten.", "How many mg of Lisol do I take?"),
    ("Server 7 runs Debian.", "Server 8 now runs Rocky.", "What do the servers run?"),
    ("Room 12 is free.", "Room 14 is free.", "Which room is free?"),
    ("Server srv041 is in Oslo.", "Server srv042 is in Oslo.", "Which server is in Oslo?"),
    ("Ayla Shell'de çalışıyor.", "Ayla'nın eşi Philips'te çalışıyor.", "Ayla nerede çalışıyor?"),
    ("Berlin'de yaşıyorum.", "Çocukken Münih'te yaşadım.", "Nerede yaşıyorum?"),
    ("Berlin'de yaşıyorum.", "Münih'te yaşıyordum.", "Nerede yaşıyorum?"),
    ("Hollandaca konuşuyorum.", "Türkçe konuşuyorum.", "Hangi dilleri konuşuyorum?"),
    ("Hollandaca konuşuyorum.", "Türkçe konuşuyorum.", "Hangi dili konuşuyorum?"),
    ("Kahve severim.", "Kahveli dondurma severim.", "Neyi severim?"),
    ("Çay içiyorum.", "Kahve içiyorum.", "Ne içiyorum?"),
    ("Kedimin adı Pamuk.", "Annemin kedisi Boncuk.", "Kedimin adı ne?"),
    ("Pazartesi sınavım var.", "Cuma sınavım var.", "Sınavım ne zaman?"),
    ("Matematik sınavım pazartesi.", "Fizik sınavım cuma.", "Sınavım ne zaman?"),
    ("Ankara'da çalışıyorum.", "Eşim artık İzmir'de çalışıyor.", "Nerede çalışıyorum?"),
    ("Ankara'da çalışıyorum.", "Kardeşimin şirketi İzmir'de.", "Nerede çalışıyorum?"),
    ("Kiram 900 lira.", "Kardeşimin kirası 950 lira.", "Kiram ne kadar?"),
    ("Bir kedim var, adı Pamuk.", "Bir kedim var, adı Boncuk.", "Kedimin adı ne?"),
    ("My daughter's name is Ada.", "My daughter's name is Eda.", "What is my daughter's name?"),
    ("I work at Shell.", "I have a meeting at Philips now.", "Where do I work?"),
    ("My car is a Volvo.", "My car is in the garage.", "What is my car?"),
    ("I live in Berlin.", "I now rent out a flat in Oslo.", "Where do I live?"),
    ("I know Ann.", "I know Bob.", "Who do I know?"),
    ("I work with Ann.", "I work with Bob.", "Who do I work with?"),
    ("I believe in God.", "I believe in luck.", "What do I believe in?"),
    (
        "My favourite films are Alien and Heat.",
        "My favourite films are Jaws and Up.",
        "What are my favourite films?",
    ),
    ("Ayla works at Shell.", "Ayla worked at Philips.", "Where does Ayla work?"),
    ("Ayla works at Shell.", "The husband of Ayla works at Philips.", "Where does Ayla work?"),
    ("Ayla works at Shell.", "Her husband works at Philips.", "Where does Ayla work?"),
    ("I work at Shell.", "I applied at Philips.", "Where do I work?"),
    ("I work at Shell.", "I do not work at Philips.", "Where do I work?"),
    ("I live in Berlin.", "I don't live in Munich.", "Where do I live?"),
    ("My car is red.", "My car is in the garage now.", "What colour is my car?"),
    ("I eat at Takumi on Fridays.", "I eat at home on Mondays.", "Where do I eat?"),
    ("My flat has 3 rooms.", "My flat has 2 bathrooms.", "How many rooms does my flat have?"),
    ("My sister lives in Rome.", "I now live in Oslo.", "Where does my sister live?"),
    (
        "I teach at Elm School.",
        "My sister's husband now teaches at Oak School.",
        "Where do I teach?",
    ),
    ("I play tennis at the club.", "I play chess at the club.", "What do I play at the club?"),
    ("My doctor is Dr. Ito.", "My doctor is very kind.", "Who is my doctor?"),
    ("My doctor is Dr. Ito.", "My doctor is a friend of Ann.", "Who is my doctor?"),
    (
        "I keep my passport in the safe.",
        "I keep my keys in the drawer.",
        "Where do I keep my passport?",
    ),
    (
        "The meeting room is on floor 3.",
        "The new meeting room opens in May.",
        "Where is the meeting room?",
    ),
    ("My email is a@x.org.", "My work email is b@y.org.", "What is my email?"),
    ("Our plumber is Mr. Ash.", "Our electrician is Mr. Oak.", "Who is our plumber?"),
    ("I run 5 km.", "I ran 10 km yesterday.", "How far do I run?"),
    ("The fridge is in the kitchen.", "The fridge is from Ikea.", "Where is the fridge?"),
    ("I need 3 eggs.", "I need 2 onions.", "How many eggs do I need?"),
    ("My dog weighs 12 kg.", "I weigh 70 kg now.", "How much does my dog weigh?"),
    ("Ann lives in Rome.", "Ann lives with Bob.", "Where does Ann live?"),
    ("I live in Rome.", "I live with Bob.", "Where do I live?"),
    ("I live in Rome.", "I live on coffee.", "Where do I live?"),
    ("I live in Rome.", "I live near the river.", "Where do I live?"),
    ("Kız kardeşim Roma'da yaşıyor.", "Artık Oslo'da yaşıyorum.", "Kız kardeşim nerede yaşıyor?"),
    ("Köpeğim 12 kilo.", "Kedim 4 kilo.", "Köpeğim kaç kilo?"),
    ("Arabam kırmızı.", "Arabam garajda.", "Arabam ne renk?"),
    ("İngilizce biliyorum.", "Artık Almanca da biliyorum.", "Hangi dilleri biliyorum?"),
    ("Dişçim Ali Bey.", "Dişçimin asistanı Oya Hanım.", "Dişçim kim?"),
    ("Antalya'ya gidiyorum.", "Bodrum'a gidiyorum.", "Nereye gidiyorum?"),
    ("Toplantı 10'da.", "Toplantı odası 3'te.", "Toplantı saat kaçta?"),
    ("Sabahları çay içiyorum.", "Akşamları kahve içiyorum.", "Sabahları ne içiyorum?"),
    ("Oğlum Elm Okulu'na gidiyor.", "Kızım Oak Okulu'na gidiyor.", "Oğlum hangi okula gidiyor?"),
    ("Kedim iki yaşında.", "Kedim siyah.", "Kedim kaç yaşında?"),
    ("Ali Shell'de çalışıyor.", "Veli Philips'te çalışıyor.", "Ali nerede çalışıyor?"),
    ("Evim Kadıköy'de.", "Annemin evi Bursa'da.", "Evim nerede?"),
    (
        "My daughter studies law.",
        "My daughter studies piano on weekends.",
        "What does my daughter study?",
    ),
    ("I drink tea at breakfast.", "I drink tea at dinner.", "When do I drink tea?"),
    ("My son is at Elm School.", "My son is at football practice.", "Where is my son?"),
    ("I have two kids.", "I have two kids and a dog.", "How many kids do I have?"),
    ("My hobby is climbing.", "My hobby is also sailing.", "What is my hobby?"),
    (
        "My hobbies are climbing and chess.",
        "My hobbies are sailing and go.",
        "What are my hobbies?",
    ),
    ("I take aspirin.", "I take ibuprofen.", "Which medicine do I take?"),
    ("I take aspirin daily.", "I take ibuprofen daily.", "What do I take daily?"),
    ("I bank at Halden.", "I grew up near Halden bank.", "Where do I bank?"),
    ("Mia is vegan.", "Mia is from Oslo.", "Where is Mia from?"),
    ("Mia is from Oslo.", "Mia is from work a friend.", "Where is Mia from?"),
    ("Mia studies in Oslo.", "Mia's brother studies in Bern.", "Where does Mia study?"),
    ("Mia studies in Oslo.", "Mia and Tom study in Bern.", "Where does Mia study?"),
    ("We meet at noon.", "We meet at Takumi.", "When do we meet?"),
    ("We meet at Takumi.", "We meet at noon.", "Where do we meet?"),
    (
        "I keep the spare key at Ann's.",
        "I keep the spare tyre in the shed.",
        "Where do I keep the spare key?",
    ),
    ("The API limit is 100 requests.", "The upload limit is 20 MB.", "What is the API limit?"),
    (
        "The staging server is at 10.0.0.1.",
        "The production server is at 10.0.0.2.",
        "Where is the staging server?",
    ),
    ("My bike is blue.", "My bike is stolen.", "What colour is my bike?"),
    ("My boss is Ann.", "My boss is angry.", "Who is my boss?"),
    ("My boss is Ann.", "My boss is on leave until May.", "Who is my boss?"),
    ("My boss is Ann.", "My old boss is Tom.", "Who is my boss?"),
    ("My boss is Ann.", "My former boss is now at Shell.", "Who is my boss?"),
    ("I live in Rome.", "I used to live in Oslo.", "Where do I live?"),
    ("I live in Rome.", "I want to live in Oslo.", "Where do I live?"),
    ("I live in Rome.", "I may move to Oslo next year.", "Where do I live?"),
    ("I live in Rome.", "Should I move to Oslo?", "Where do I live?"),
    ("I live in Rome.", "I almost moved to Oslo.", "Where do I live?"),
    ("I live in Rome.", "I will move to Oslo in May.", "Where do I live?"),
    ("I live in Rome.", "If I moved to Oslo I would be happy.", "Where do I live?"),
    ("I work at Shell.", "I would like to work at Philips now.", "Where do I work?"),
    ("I work at Shell.", "Now I am at work in a meeting.", "Where do I work?"),
    ("I work at Shell.", "I work at home today.", "Where do I work?"),
    ("I work at Shell.", "I work at night.", "Where do I work?"),
    ("My rent is 900 euros.", "My rent is due on 1 May.", "What is my rent?"),
    ("My rent is 900 euros.", "My rent deposit is 1800 euros.", "What is my rent?"),
    ("My rent is 900 euros.", "The average rent is 1200 euros.", "What is my rent?"),
    ("My rent is 900 euros.", "Will my rent be 950 euros?", "What is my rent?"),
    ("My rent is 900 euros.", "Is my rent 950 euros?", "What is my rent?"),
    ("I weigh 82 kg.", "My suitcase weighs 23 kg.", "How much do I weigh?"),
    ("I weigh 82 kg.", "I lift 90 kg.", "How much do I weigh?"),
    ("I weigh 82 kg.", "I want to weigh 75 kg.", "How much do I weigh?"),
    ("I weigh 82 kg.", "I weighed 90 kg in 2019.", "How much do I weigh?"),
    ("My goal weight is 75 kg.", "My weight is 82 kg.", "What is my goal weight?"),
    ("My weight is 82 kg.", "My goal weight is 75 kg.", "What is my weight?"),
    ("Ticket 88 is open.", "Ticket 89 is open.", "Which ticket is open?"),
    ("Annem Bursa'da yaşıyor.", "Annemin kardeşi İzmir'de yaşıyor.", "Annem nerede yaşıyor?"),
    ("Annem Bursa'da yaşıyor.", "Annem İzmir'de doğdu.", "Annem nerede yaşıyor?"),
    ("Maaşım 40000 lira.", "Koltuğa 9000 lira verdim.", "Maaşım ne kadar?"),
    ("Maaşım 40000 lira.", "Eşimin maaşı 50000 lira.", "Maaşım ne kadar?"),
    ("Kahveyi sütlü içiyorum.", "Çayı şekerli içiyorum.", "Kahveyi nasıl içiyorum?"),
    ("Arabam Fiat.", "Arabam serviste.", "Arabam ne marka?"),
    ("Roma'da yaşıyorum.", "Oslo'da yaşamak istiyorum.", "Nerede yaşıyorum?"),
    ("Roma'da yaşıyorum.", "Oslo'ya taşınmak istiyorum.", "Nerede yaşıyorum?"),
    ("Roma'da yaşıyorum.", "Belki Oslo'ya taşınırım.", "Nerede yaşıyorum?"),
    ("Shell'de çalışıyorum.", "Evde çalışıyorum bugün.", "Nerede çalışıyorum?"),
    ("İki kedim var.", "İki köpeğim var.", "Kaç kedim var?"),
    ("I don't eat meat.", "I eat fish.", "What do I eat?"),
    ("I don't eat meat.", "I eat meat loaf.", "Do I eat meat?"),
    ("I play in a band.", "I play in a theatre group.", "Where do I play?"),
    ("My sister works in a bank.", "My sister works in Rome.", "Where does my sister work?"),
    ("The password is in the vault.", "The password is hunter2.", "What is the password?"),
)


def form_of(old: str, new: str, cue: str) -> ChangeKind | None:
    question = Question.of(cue)
    turkish = question.text.turkish
    return StatementPair(
        question, Statement.of(old, turkish=turkish), Statement.of(new, turkish=turkish)
    ).form()


@pytest.mark.parametrize(("old", "new", "cue"), ANEW)
def test_another_value_in_one_frame_or_a_word_of_change_answers_anew(
    old: str, new: str, cue: str
) -> None:
    assert form_of(old, new, cue)


@pytest.mark.parametrize(("old", "new", "cue"), BESIDE)
def test_what_is_only_alike_does_not(old: str, new: str, cue: str) -> None:
    assert form_of(old, new, cue) is None


@pytest.mark.parametrize(
    "text", ["a" * 600, "my rent " * 75, "ne yapiyor " * 50, "is " * 200, "mi" * 300, "'s a" * 150]
)
def test_no_text_takes_long(text: str) -> None:
    start = time.perf_counter()
    for cue in (text, "What is my rent?", "Kiram ne kadar?"):
        form_of(text, text + " 1 now", cue)
    assert time.perf_counter() - start < 0.5
