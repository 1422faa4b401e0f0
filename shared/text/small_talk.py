"""Whether something is asked for or said at all, or it is a greeting, a word of thanks, a yes, a sign.

Lists of the words people open, close and acknowledge with, in the languages most written in, and of the small words
that go with them. A text in which anything else stands asks for something, or says it; what, is not known here.
"""

import re
import unicodedata
from functools import lru_cache

from shared.text.words import any_words

_WORD = re.compile(r"[\w\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0e31-\u0e4e]+")
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")
"""A letter three times or more: "hiii", "heyyy"."""
_LAUGHTER = re.compile(r"(?:(?:ha|he|hi|ho|ja|je|ah|ха|хе){2,}h?|x+d+|ww+|(?:ㅋ|ㅎ)+|lo+l)")
_MARKED = re.compile("[\u0300-\u036f]")


_LONGEST = 200
"""Characters; nobody greets at such length."""


def _words(text: str) -> frozenset[str]:
    return frozenset(map(_plain, text.split()))


@lru_cache(maxsize=16_384)
def _plain(word: str) -> str:
    """Return a word in small letters, without what lies on Latin ones and without letters that are drawn out."""
    folded = unicodedata.normalize("NFKD", word.casefold())
    plain = _MARKED.sub("", folded) if any("a" <= letter <= "z" for letter in folded) else folded
    return _DRAWN_OUT.sub(r"\1", unicodedata.normalize("NFC", plain))


_SMALL_TALK = _words(
    # English
    "hi hello hey hiya heya howdy yo sup greetings welcome morning afternoon evening goodnight thanks thank "
    "thankyou thx "
    "thanx ty tysm tnx cheers appreciated appreciate ok okay okey oki kk k okie alright alrighty yes yeah yep yup "
    "yea ye "
    "no nope nah sure right fine good great perfect nice cool awesome excellent wonderful lovely amazing brilliant "
    "fantastic super sweet neat understood noted gotcha roger indeed exactly agreed correct absolutely definitely "
    "certainly bye goodbye byebye cya farewell ciao cheerio please pls plz sorry apologies oops welcome "
    "congrats wow "
    "oh ah aha ooh hm hmm mm mhm uh um huh hah lol lmao rofl omg np yw brb ttyl gn gm bravo yay hooray cheers done "
    # German
    "hallo hallochen hallole moin servus gruss gruess grussgott gruessgott tag tach morgen abend danke dankeschoen "
    "dankeschon dank merci bitte gerne gern ja jo jep jawohl nein nee ne nö gut prima super toll klasse passt "
    "alles klar "
    "tschuss tschuess tschau ciao wiedersehen bis genau stimmt einverstanden verstanden entschuldigung sorry "
    "okidoki "
    "perfekt schon schoen "
    # French
    "bonjour bonsoir salut coucou allo merci ouais oui non si daccord accord parfait super genial bien tres revoir "
    "adieu "
    "bientot bonne nuit journee soiree pardon desole desolee entendu compris voila top "
    # Spanish, Portuguese, Italian, Catalan, Galician
    "hola buenas buenos dias tardes noches gracias grazie obrigado obrigada obg valeu oi ola ei oie bom boa tarde "
    "noite "
    "adios chao chau hasta luego ate logo tchau vale listo claro si sim nao perfecto perfeito perfetto genial "
    "bueno buena "
    "ciao buongiorno buonasera buonanotte salve prego bene benissimo va arrivederci scusa scusi mercie gracies "
    "moltes "
    "merces encantado encantada prazer piacere certo esatto ottimo otimo beleza blz tranquilo "
    # Dutch, Danish, Norwegian, Swedish, Finnish, Icelandic, Estonian, Latvian, Lithuanian
    "hoi hallo dag goedemorgen goedemiddag goedenavond goedendag dank dankjewel dankje bedankt doei tot ziens "
    "prima leuk "
    "hej hei heisann halla hallå tjena tjenare tack takk tak tusen mange godmorgon godmorgen godaften kveld farvel "
    "hejda "
    "moi moikka terve huomenta kiitos kiitti hyva joo juu hæ halló takk tere aitah sveiki paldies labas aciu "
    # Polish, Czech, Slovak, Croatian, Slovenian, Hungarian, Romanian, Albanian
    "czesc witam witaj dzien dobry dziekuje dzieki dzięki tak nie dobrze pa ahoj cau dobry den dekuji diky dik "
    "dakujem ano "
    "bok zdravo dobar hvala da ne dober živjo zivjo szia sziasztok udv koszonom koszi igen nem jo rendben buna "
    "salut "
    "multumesc mersi pa pershendetje faleminderit "
    # Turkish, Indonesian, Malay, Vietnamese, Filipino, Swahili
    "merhaba selam gunaydin gunaydın tesekkurler tesekkur sagol evet hayir tamam halo hai selamat pagi siang malam "
    "sore "
    "terima kasih "
    "makasih iya tidak baik xin chao cam on chào cảm ơn kamusta salamat jambo habari asante "
    # Russian, Ukrainian, Bulgarian, Greek
    "привет здравствуйте здравствуй добрый доброе утро день вечер спасибо пасиб да нет хорошо ладно ок пока привіт "
    "дякую так ні "
    "здравей благодаря γεια χαιρετε καλημερα καλησπερα ευχαριστω ναι οχι ενταξει "
    # Hebrew, Arabic, Persian, Hindi, Bengali, Thai
    "שלום היי תודה כן לא בסדר مرحبا اهلا أهلا سلام السلام عليكم شكرا نعم حسنا صباح الخير ممنون بله "
    "नमस्ते धन्यवाद शुक्रिया "
    "हाँ नहीं ठीक ধন্যবাদ হ্যালো สวัสดี สวัสดีครับ สวัสดีค่ะ ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ "
    # Japanese, Chinese, Korean
    "こんにちは こんばんは おはよう おはようございます おはよ やあ どうも ありがとう ありがとうございます "
    "ありがとうございました さようなら またね "
    "バイバイ はい いいえ うん 了解 了解です 了解しました わかった わかりました なるほど すみません ごめん "
    "ごめんなさい お疲れ様です おやすみ おやすみなさい "
    "よろしく よろしくお願いします はじめまして もしもし いいね オッケー "
    "你好 您好 你好吗 你好嗎 嗨 哈喽 大家好 早 早安 早上好 下午好 晚上好 晚安 谢谢 謝謝 谢谢你 謝謝你 谢谢您 "
    "多谢 多謝 好 好的 好吧 是 是的 对 對 不 不是 "
    "不用 没事 再见 再見 拜拜 嗯 嗯嗯 哦 行 可以 明白 明白了 知道了 收到 太好了 "
    "안녕 안녕하세요 안녕하십니까 감사합니다 감사해요 고마워 고마워요 고맙습니다 네 예 아니요 아니 응 좋아 "
    "좋아요 알겠습니다 알겠어요 잘가 잘자 반가워요 "
    "반갑습니다 수고하세요"
)
_WITH_IT = _words(
    # English
    "a all and are as lot at be but by day days do doing everybody everyone folks for friend from get going got "
    "guys have help "
    "helping helped here how i in is it its just later m makes me meet much my night of on problem re really s see "
    "sense "
    "so soon sounds t talk talking take care team that the then there things think this to today tomorrow too up "
    "very was "
    "we week weekend well what whats will works wrong you your again d ll u r y now not still one "
    # German, Dutch, the North
    "auch gott dir dich du das der die es euch fur fuer geht gehts guten gute gutes guter herzlich herzlichen ich "
    "ihnen ihre "
    "deine deinen ist mir nacht noch sehr so spater und viel vielen vielmals wie mal schonen schoenen wünsche "
    "wunsche "
    "hilfe zusammen alle liebe grüße gruesse je het u wel goed hoe gaat ermee morgen avond nacht met jou en god "
    "natt dag "
    "gar hur mar du det ar bra hvordan gar "
    # French, Spanish, Italian, Portuguese
    "a tous toutes au aux ca comment vas va allez vous tu te toi et de la le les bon beaucoup mille pour votre ton "
    "aide c est cest l d "
    "tout monde demain como esta estas están estan que tal muy mucho mucha muchas muchos mil por todo ayuda tu su "
    "un una "
    "y el mi amigo come stai sta molte tante tutto per di lo il ti voce vai tudo bem muito ai pra um dia o e "
    # Slavic, Turkish, Greek
    "как дела ты вы вам очень большое в и всё все jak sie się masz bardzo za co slychać ti se mate nasilsin nasil "
    "cok ederim "
    "iyi gunler aksamlar geceler τι κανεις σας σου كيف حالك حال جزيلا وسهلا خیلی کیسے कैसे हो हैं बहुत आप"
)
_PHRASES = frozenset(
    (
        "how are you",
        "how are you doing",
        "how are you today",
        "how do you do",
        "how is it going",
        "how s it going",
        "hows it going",
        "what s up",
        "whats up",
        "wie geht es dir",
        "wie geht s",
        "wie geht s dir",
        "wie gehts dir",
        "wie geht es ihnen",
        "wie gehts",
        "comment ca va",
        "ca va",
        "como estas",
        "que tal",
        "come stai",
        "tudo bem",
        "как дела",
        "nice to meet you",
        "see you",
        "see you soon",
        "see you later",
        "see you tomorrow",
        "talk to you later",
        "talk soon",
        "take care",
        "got it",
        "i see",
        "makes sense",
        "that makes sense",
        "never mind",
        "have a day",
        "will do",
        "not yet",
        "go on",
    )
)

_LONGEST_PHRASE = max(len(one.split()) for one in _PHRASES)


def is_small_talk(text: str) -> bool:
    """Whether a text says nothing but what people open, close and acknowledge with; also one without any word."""
    if len(text) > _LONGEST:
        return False
    words = any_words(text) if text.isascii() else _WORD.findall(unicodedata.normalize("NFKC", text))
    if (len(words) <= _LONGEST_PHRASE and " ".join(map(_plain, words)) in _PHRASES) or not words:
        return True
    is_small = False
    for word in map(_plain, words):
        if word in _SMALL_TALK or _LAUGHTER.fullmatch(word):
            is_small = True
        elif word not in _WITH_IT:
            return False
    return is_small
