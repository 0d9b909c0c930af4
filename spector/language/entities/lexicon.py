"""Words that say what a name names, folded: lists for English and Turkish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["LEXICON"]

#: list -> its words, in one text
LEXICON: Final[Mapping[str, str]] = {
    "tech": """
        python javascript typescript java kotlin swift rust golang ruby php scala haskell elixir
        perl julia matlab react angular vue svelte nextjs node nodejs deno django flask fastapi
        rails laravel spring redis postgres postgresql mysql mariadb sqlite mongodb cassandra
        dynamodb elasticsearch opensearch clickhouse duckdb snowflake bigquery kafka rabbitmq
        nats docker kubernetes podman terraform ansible helm jenkins github gitlab bitbucket git
        linux ubuntu debian fedora windows macos android ios aws azure gcp cloudflare nginx
        apache grafana prometheus datadog sentry pytorch tensorflow keras numpy pandas scikit-
        learn huggingface langchain openapi graphql grpc rest oauth jwt jira confluence notion
        slack figma vim emacs vscode pytest webpack vite numba cuda
    """,
    "org": """
        google microsoft apple amazon meta facebook netflix nvidia intel amd ibm oracle sap
        siemens bosch philips shell tesla toyota bmw mercedes volkswagen samsung sony nokia
        ericsson openai anthropic deepmind spotify uber airbnb booking paypal stripe visa
        mastercard adobe salesforce twitter linkedin youtube unicef unesco nasa nato turkcell
        vodafone garanti akbank arçelik vestel aselsan tübitak trendyol getir
    """,
    "org_ends": """
        inc ltd llc gmbh corp corporation company co plc ag bv nv university college institute
        school hospital bank museum ministry agency association foundation club team
        üniversitesi lisesi hastanesi bankası müzesi bakanlığı müdürlüğü belediyesi derneği
        vakfı şirketi kulübü enstitüsü partisi a.ş.
    """,
    "place_ends": """
        street avenue road square park river lake mountain island bay bridge airport station
        beach county province city village sokağı caddesi bulvarı meydanı parkı nehri gölü dağı
        adası köprüsü havalimanı ili ilçesi köyü mahallesi
    """,
    "titles": """
        mr mrs ms miss dr prof professor sir madam captain president doktor profesör sayın
    """,
    "titles_behind": """
        bey hanım abi abla amca teyze hoca hocam efendi
    """,
    "places": """
        adana adıyaman afyon ağrı amasya ankara antalya artvin aydın balıkesir bilecik bingöl
        bitlis bolu burdur bursa çanakkale çankırı çorum denizli diyarbakır edirne elazığ
        erzincan erzurum eskişehir gaziantep giresun gümüşhane hakkari hatay isparta mersin
        istanbul izmir kars kastamonu kayseri kırklareli kırşehir kocaeli konya kütahya malatya
        manisa maraş mardin muğla muş nevşehir niğde rize sakarya samsun siirt sinop sivas
        tekirdağ tokat trabzon tunceli urfa şanlıurfa uşak van yozgat zonguldak aksaray bayburt
        karaman kırıkkale batman şırnak bartın ardahan iğdır yalova karabük kilis osmaniye düzce
        bodrum fethiye alanya kadıköy beşiktaş üsküdar türkiye almanya fransa ingiltere italya
        ispanya hollanda belçika yunanistan rusya çin japonya hindistan amerika kanada brezilya
        mısır london paris berlin madrid rome milan vienna munich hamburg cologne frankfurt
        zurich geneva amsterdam rotterdam utrecht brussels lisbon porto dublin edinburgh
        manchester oslo stockholm copenhagen helsinki warsaw prague budapest athens moscow kyiv
        cairo dubai delhi mumbai bangalore beijing shanghai tokyo osaka kyoto seoul singapore
        bangkok sydney melbourne toronto vancouver montreal boston chicago seattle denver austin
        dallas houston miami atlanta philadelphia brooklyn manhattan california texas florida
        germany france england scotland wales ireland italy spain portugal netherlands belgium
        switzerland austria poland greece turkey russia china japan korea india canada mexico
        brazil argentina chile peru egypt morocco kenya nigeria australia europe asia africa
    """,
    "persons": """
        aaron abigail adrian agnes aidan alan albert alexander alexandra alexis alfred alison
        allison alyssa amelia anastasia angelina anita annie anthony antonio archie arthur ashley
        audrey austen barry beatrice bella bernard bethany bianca blake brad bradley brandon brenda
        brett bruce bryan caleb calvin cameron camila carla carlos carmen cassandra cecilia chloe
        claudia clara colin connor craig curtis cynthia damian darren dave derek diego dominic
        donna doris douglas dylan eddie edgar edith eleanor eli elijah ella ellen elliot eloise
        elsa emilia ernest ethan eugene evan fatima felix fernando fiona florence francesca francis
        francisco frederick gabriel gabriella gavin geoffrey gerald gilbert gloria gordon graham
        greg gregory hazel hugo ian ines irene isaac isabella ivan jake jamie jasmine jeff jeffrey
        jenny jeremy jerry jim jimmy joanna joel johanna jordan jorge jose juan judy justin kate
        kathleen katie kenneth kyle lance leah leo leon leonard leslie lewis liam lily logan
        lorenzo louis louise lydia madison maggie malcolm manuel marco margaret marina mario marion
        marvin matt maurice max maya melvin mia miguel miles mohammed molly morgan naomi neil
        nicholas nick nigel noah nora norman oscar owen pablo pamela patricia paula pedro penelope
        peggy phil phoebe pierre rafael ralph randy raj ravi ray renee ricardo rita roberta roberto
        robin rodney rosa ross roy ruby russell sally samantha sean sebastian sergio shane shirley
        silvia sonia spencer stanley stella stuart sylvia tara tanya ted terry tessa theo theodore
        theresa todd tony tracy trevor tyler ursula valerie vanessa vera veronica vincent vivian
        wayne wilson xavier yvonne yuki zachary
        ada adam alex alice amanda amy andrea andrew angela ann anna anne anthony barbara ben
        benjamin betty bob brian carl carol caroline catherine charles chris christine claire
        daniel david deborah dennis diana donald dorothy edward elena elizabeth emily emma eric
        erik eva evelyn frank gary george grace hannah harry heather helen henry isabel jack
        jacob james jane janet jason jean jennifer jessica joan joe john jonathan joseph joshua
        joyce judith julia julie karen karl katherine keith kelly kevin kim larry laura lauren
        linda lisa lucas lucy luke maria marie mark martha martin mary matthew megan melanie
        melissa michael michelle mike monica nancy natalie nate nathan nicole nina oliver olivia
        omar patricia patrick paul peter philip rachel raymond rebecca richard robert roger
        ronald rose ruth ryan sam samuel sandra sara sarah scott sharon simon sophia sophie
        stephanie stephen steve steven susan teresa thomas tim timothy tina tom victoria
        virginia walter wendy william zoe ahmet mehmet mustafa ali hüseyin hasan ibrahim ismail
        osman yusuf murat ömer ramazan halil süleyman abdullah mahmut recep salih fatih kadir
        emre hakan serkan burak can cem deniz ege emir eren erdem gökhan kaan kemal kerem levent
        mert oğuz onur orhan ozan selim sinan tolga tuna ufuk umut volkan yiğit ayşe fatma emine
        hatice zeynep elif meryem şerife zehra sultan hanife merve havva zeliha esra fadime
        özlem hülya yasemin sevim ayla aylin ayça aslı başak bahar banu berna beste burcu büşra
        canan ceren cansu çiğdem damla derya dilek ebru ece eda ela esin filiz gamze gizem gül
        gülşen hande irem ipek leyla melis melek nazlı nehir nilüfer nur pelin pınar selin seda
        sevgi sibel şule tuğba yağmur
    """,
}
