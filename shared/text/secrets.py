"""What opens something or pays for something: keys, passwords, numbers of accounts and cards. Nobody's memory holds it.

Told by its shape (a key of a known service, an address with a password in it, a private key) or by the word before it
together with something that can be one ("my password is ..."). An order number, a phone number, a password manager
and the pin of a board are none.
"""

import re
from collections.abc import Iterable

_SHAPES = re.compile(
    # Keys of services, which begin with what they are.
    r"\b[sprw]k[-_](?=[\w-]{0,80}\d)[A-Za-z0-9_-]{12,}"
    r"|\bgh[opsur]_[A-Za-z0-9]{12,}|\bgithub_pat_\w{20,}|\bgl[a-z]{2,5}-[\w-]{16,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b"
    r"|\bxox[a-z]-[\w-]{10,}|\bxapp-\d[\w-]{10,}|\bhooks\.slack\.com/services/\w+/\w+/\w+|\bnpm_[A-Za-z0-9]{10,}"
    r"|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bhf_[A-Za-z0-9]{16,}|\bSG\.[\w-]{16,80}\.[\w-]{16,}|\bpypi-[\w-]{24,}"
    r"|\b\d{8,10}:AA[\w-]{30,}|\bdop_v1_\w{16,}|\bshp(?:at|ss|ca)_\w{16,}|\bwhsec_[\w+/=]{16,}"
    r"|\beyJ[\w-]{8,400}\.[\w-]{8,}|\bdckr_[a-z]{2,5}_[\w-]{16,}|\bmysql\b[^\n]{0,80}\s-p(?!(?:ort|ool|rotocol"
    r"|lugin)\b)\w[^\s]{2,}"
    r"|\bcurl\b[^\n]{0,80} (?:-u|--user)[ =]?[\"']?[^\s:\"']{1,60}:(?![$<{(])[^\s\"']{4,}"
    r"|\b[Cc]ookie: ?[^\s=;]{1,40}=(?=[^\s;]{0,80}\d)[^\s;]{12,}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY"
    r"|\b(?:Bearer|Basic) +(?=[\w+/.=~-]{0,200}\d)[\w+/.=~-]{16,}"
    r"|\b\w{1,20}://[^\s/:@]{0,200}:[^\s/@]{1,200}@"
    # Numbers of accounts, of cards as they are written, of persons in the United States.
    r"|\b[A-Z]{2}\d{2}(?: ?[0-9A-Z]{4}){3,7}(?: ?[0-9A-Z]{1,3})?\b|\b[A-Za-z]{2}\d{2}(?: ?\d{4}){3,}\b"
    r"|\b\d{4}([ -])\d{4}\1\d{4}\1\d{4}\b|\b3[47]\d\d([ -])\d{6}\2\d{5}\b|\b\d{3}-\d{2}-\d{4}\b(?!-)"
)
_CARD = re.compile(r"(?<![\d.,-])(?:[3-6]\d{12,18}|2[2-7]\d{14})(?![\d-])")
"""The number of a card written in one; whether it is one is told by its last digit."""
_IS = (
    r"(?:\s+(?:(?:will|should|must) be|is|are|was|ist|lautet|war|est|es|é|è|jest|je|är|er|este|είναι|là|adalah|ialah"
    r"|yra"
    r"|هي|هو)\b|['’]s\b|[\"'”]?\s*(?:[:=：→]|->))"
)
_OF = r"(?:[ ](?!(?:and|but|or|because|und|et|y)\b)[\w'’-]{1,20}){0,6}?"
"""What the secret is of: "password for the vet portal"."""
_VALUE = r"\s*[\"'“„«`]?"
_CODE = r"(?![$<{(]|[\w.]{1,80}[(\[]|[a-z_]{1,40}(?:\.[a-z_]{1,40}){1,9}\b(?!\.\d)|\*{3}|…|\.{3})"
"""What fetches a value, or stands in its place, is none."""
_PASSWORD = (
    r"pass ?(?:word|phrase|code)s?|passwd|pw|pwd|passwort|kennwort|zugangscode|contraseñas?|mot de passe|senha"
    r"|palavra-passe|wachtwoord|lösenord|adgangskode|passord|salasana|hasło|heslo|jelsz[óa]\w*|parol[ae]?"
    r"|lozink\w{1,3}|slaptažod\w{1,4}|şifre\w*|parola\w*"
    r"|пароль?|κωδικός|kata sandi|mật khẩu"
)
_PASSWORD_WITHOUT_SPACES = r"密码|密碼|口令|パスワード|暗証番号|비밀번호|รหัสผ่าน|كلمة (?:السر|المرور)|סיסמה|पासवर्ड"
_OF_ANOTHER_THING = (
    r"(?![\s-]*(?:managers?|polic(?:y|ies)|resets?|fields?|rules?|hash\w*|protect\w*|generators?|prompts?|checks?"
    r"|lengths?|strength|safe|vault|hints?|forms?|screens?|box|requirements?|less|boards?|tresor)\b)"
)
_SAID_OF_ONE = (
    r"(?!(?:not?|too|so|very|wrong|right|correct|incorrect|required|needed|optional|forgotten|lost|gone|expired|being"
    r"|an?|the|in|on|at|with|my|your|our|his|her|their|that|this|what|which|weak|strong|secure|safe|stored|saved|kept"
    r"|hashed|encrypted|changed|reset|unknown|invalid|missing|always|never|only|still|also|now|if|how|why|where|when"
    r"|again|there|here|empty|longer|shorter|short|long|different|asked|shown|sent|string|str|bytes|int|bool|none|null"
    r"|true|false|any|nicht|falsch|weg|vergessen|zu|kein\w*|auch|noch|perdu|oublié|pas|incorrecta|perdida)\b)"
)
_KEY = (
    r"(?:chave|clave|clé|chiave|cheie|klucz|klíč|kľúč|ключ\w*|kunci|khóa|avain|anahtar\w*|schlüssel|sleutel|nyckel"
    r"|nøgle|nøkkel"
    r"|キー|密钥|密鑰|키|مفتاح|מפתח|कुंजी)"
)
_START = r"(?:(?<![^\W_])|(?-i:(?<=[a-z])(?=[A-Z])))"
"""Where a word begins, within a name as well: ``db_password``, ``userPassword``."""
_WITH_DIGIT = r"(?=[^\s\"'”`]{0,80}\d)[^\s\"'”`]"
_DOORS = (
    r"(?:gate|door|entry|entrance|garage|shed|gym|locker|building|house|flat|key ?safe|lock ?box|key ?pad|tür|haustür"
    r"|tor|garagen?|eingangs|deur|poort|porte|portail|immeuble|puerta|portal|portón|porta|portone|portão|drzwi|bramy"
    r"|domofonu|dörren|porten|døren|kapı|safe|tresor|schlüssel(?:tresor|kasten|box|safe)|coffre(?:-fort)?|caja fuerte"
    r"|cassaforte|cofre|kluis|sejfu|kassaskåpet|boîte à clés)"
)
_OPENS = (
    rf"(?:{_DOORS}[ -]?(?:code|pin)|key ?(?:safe|box)|lock ?box|key ?pad|digicode|voordeurcode|portkod\w*|kapı şifresi"
    r"|safe['’]s combination|combinazione (?:\w{1,6} )?cassaforte|schlüssel(?:kasten|box|safe|tresor)"
    r"|رمز (?:الباب|البوابة)"
    r"|код\w? (?:от|для) (?:\w{1,10} )?(?:подъезда|домофона|двери|ворот|калитки|сейфа)"
    rf"|(?:code|código|codice|kod|kode|codigo) (?:for|of|to|für|fürs|zur|zum|von|de|del|della|do|da|du|van|til|till|på"
    r"|vom|der|du|dla)"
    rf" (?:\w{{1,8}} ){{0,2}}?(?:{_DOORS}))"
)
_WORDS = re.compile(
    rf"{_START}(?:{_PASSWORD})\b{_OF_ANOTHER_THING}{_OF}{_IS}{_VALUE}{_CODE}(?:{_SAID_OF_ONE}[^\s\"'”»,;.]{{3,}}|{_WITH_DIGIT}{{4,}})"
    # "login vera, password Herbst#2021x": what has letters and digits is no word of the sentence.
    rf"|{_START}(?:{_PASSWORD})\b{_VALUE}{_CODE}(?=[^\s\"']{{0,60}}[^\W\d_]){_WITH_DIGIT}{{6,}}"
    rf"|(?:{_PASSWORD_WITHOUT_SPACES})[^\n。.]{{0,12}}?(?:[:=：は是为為는은]|is|هي)[\s\"'“「]*[^\s\"'”」。、？?]{{4,}}"
    rf"|(?:{_PASSWORD_WITHOUT_SPACES})[\s:：]{{0,3}}(?=[\w!-]{{0,80}}\d)[\w!-]{{4,}}"
    # "Changed my password to ...", "the password, ..., works": what has letters and digits, or stands in quotes.
    rf"|{_START}(?:{_PASSWORD})\b{_OF}(?:[,?]| (?:to|in|auf|zu|à|a|en|på|til|naar|na)\b){_VALUE}"
    rf"{_CODE}{_WITH_DIGIT}{{5,}}"
    rf"|{_START}(?:{_PASSWORD})\b{_OF} (?:to|auf|zu|à|en) [\"'“„«`][^\"'”“»`]{{3,60}}[\"'”“»`]"
    rf"|(?<!\S)[\"'“„«`]?{_WITH_DIGIT}{{5,80}}[\"'”“»`]? (?:is|ist|est|es|è|é|jest)"
    rf" (?:my|our|the|his|her|their|mein|unser|das"
    rf"|mon|notre|le|mi|nuestra|la|il|mio|mia|a|o|meu|minha|mijn|het) (?:\w{{1,20}} )?(?:{_PASSWORD})\b"
    rf"|\b(?:use|using|took|take|nimm|nehm\w{{1,2}}|benutz\w{{1,2}}|verwend\w{{1,2}}|utilise|uso|usa)\b[^\n.]{{0,20}}?"
    rf" {_WITH_DIGIT}{{5,80}}"
    rf" (?:as|for|als|comme|como|come) (?:\w{{1,20}} ){{0,2}}(?:{_PASSWORD}|secret)\b"
    rf"|\bals (?:{_PASSWORD})\b[^\n.]{{0,40}}? {_WITH_DIGIT}{{5,80}}"
    # Finnish and Estonian, whose "is" is an English preposition.
    rf"|\b(?:salasana\w{{0,4}}|salasõna|parool\w{{0,2}}|jelsz\w{{1,4}})\b(?: on)?{_VALUE}{_WITH_DIGIT}{{5,}}"
    # "пароль от почты котик2020", "What is its password? Quasar-88-zulu".
    rf"|{_START}(?:{_PASSWORD})\b(?: (?:от|для|к|do|od|für|zu|for|to|de|del|della|di|van|voor|til|till)"
    rf"(?: [\w'’-]{{1,20}}){{1,3}}? |[^?\n]{{0,40}}\? ?)(?=[^\s\"']{{0,60}}[^\W\d_]){_WITH_DIGIT}{{6,}}"
    rf"|\b(?:2fa|totp|otp|mfa) (?:seed|secret|key)\b{_OF}{_VALUE}[a-z2-7]{{12,}}"
    rf"|\bsecurity (?:question|answer)\b[^\n.]{{0,30}}?{_IS}{_VALUE}{_WITH_DIGIT}{{4,}}"
    # Words in a row open something too where they are called so.
    r"|\b(?:pass ?phrase|seed ?(?:phrase|words)|recovery phrase|mnemonic)\b"
    rf"{_OF}{_IS}{_VALUE}(?!(?:too|very|so|not|now|easy|hard|long|short|stored|written|kept|a|an|the|in|on|my)\b)"
    r"(?:[a-z]{2,12}[ ,-]{1,2}){2,23}[a-z]{2,12}"
    rf"|\b(?:2fa|mfa|otp|one-?time|verification|security|alarm|safe|unlock|voicemail)"
    rf"[ -]?(?:code|pin|combination)s?\b{_OF}{_IS}\s*[\"'“#]?\d[\d -]{{2,9}}"
    # "Gate and house codes: gate 4471#, alarm 9083": no time of day.
    r"|\balarm (?:(?!(?:[01]\d|2[0-3])[0-5]\d\b)\d{4,8}\b(?!\s?(?:times?|eur|usd|€))|\d{4,8}#)"
    # What opens a door: a number of four to eight digits that is no year.
    r"|\bgate: ?#?(?!(?:19|20)\d\d\b)\d{4,8}\b(?! ?(?:x|[mck]m)\b)"
    rf"|\bsafe opens with \d[\d -]{{3,9}}"
    rf"|\b{_OPENS}\b[^?\n]{{0,40}}\? ?#?\d{{4,8}}\b"
    rf"|\b{_OPENS}\b(?:{_OF}(?:{_IS}| (?:opens with|geht mit|to|c['’]est))|)(?: (?:le|el|il|o|number|no|nr)\b)?\s*#?"
    rf"(?!(?:19|20)\d\d\b)\d{{4,8}}[A-Z]?\b(?!\s?(?:eur|usd|€))"
    rf"|\bcombination (?:of|to|for)\b{_OF} (?:safe|lock|locker|suitcase|vault|bike)\b{_IS}\s*\d[\d -]{{2,9}}"
    # A short number opens something only where it is called so.
    rf"|{_START}(?:pin|tan|puk|cvv2?|cvc2?)(?:[ -]?(?:code|number|nummer|no\.?))?\b"
    rf"(?: (?:for|of|zu|für|de|del)\b{_OF})?{_IS}"
    r"\s*[\"'“]?\d[\d -]{1,9}\d\b"
    r"|\b(?:pin|puk|cvv2?|cvc2?)(?:[ -]?(?:code|number|nummer))? \d{4,8}\b|\bcv[vc]2? \d{3}\b"
    rf"|{_START}(?:api|access|auth\w*|bearer|secret|private|client|session|refresh|licen[cs]e|recovery|backup)"
    rf"[ _-]*(?:keys?|tokens?|secrets?|codes?)\b{_OF}{_IS}{_VALUE}{_CODE}{_WITH_DIGIT}{{4,}}"
    rf"|{_START}(?:tokens?|secrets?|keys?)\b{_OF}{_IS}{_VALUE}{_CODE}(?=\S{{0,80}}[A-Za-z])"
    rf"{_WITH_DIGIT}{{12,}}"
    r"|(?-i:\b[A-Z0-9_]*(?:TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PWD|KEY"
    r"|CREDENTIALS))(?:[\"']\])?\s*=\s*[\"']?(?!None\b|null\b|os\.)"
    rf"{_CODE}[^\s\"']{{4,}}"
    # Behind a colon only under a name of several words: "KEY: the main points" is a heading.
    r"|(?-i:\b[A-Z0-9]*_[A-Z0-9_]*(?:TOKEN|SECRET|PASS(?:WORD|WD|PHRASE)?|PWD|KEY|CREDENTIALS))\s*:\s*[\"']?"
    rf"{_CODE}{_SAID_OF_ONE}[^\s\"']{{4,}}"
    # "Chave API", "API-Schlüssel", "APIキー".
    rf"|(?:{_KEY}\W{{0,2}}(?:\w{{1,6}}\W)?api|api\W{{0,2}}{_KEY})(?:{_IS}|[は是는은]){_VALUE}{_CODE}(?=\S{{0,80}}[A-Za-z]){_WITH_DIGIT}{{6,}}"
    # Name and password in one breath.
    r"|\b(?:log-?in|credentials|zugangsdaten|user(?:name)?|benutzer(?:name)?|usuario|utilisateur)\b[^\n.]{0,40}?"
    r"(?:\b(?:pass|pw|pwd)\b[\s:=,]{1,3}[^\s,;.]{3,}|[ :=][^\s/]{1,80} ?/ ?(?=[^\s/]{0,80}\d)[^\s/]{4,})"
    r"|\blog-?in\b[^\n.]{0,20}? (?:is|ist|est|es|è) \S{3,80} (?:with|and|mit|und|et|y"
    r"|e) (?=\S{0,80}\d)(?=\S{0,80}[a-z])\S{6,}"
    r"|\bcreds?\b[: ]{1,3}[^\s/]{1,60}/(?=[^\s/]{0,80}\d)[^\s/]{5,}"
    r"|\b(?:log-?in|credentials|zugangsdaten)\b[^\n.]{0,30}?(?:\bare\b|\bis\b|\bsind\b|[:=])[^\n.]{0,24}?[ :=]"
    r"(?=\S{0,80}[A-Za-z])(?=\S{0,80}\d)\S{5,}"
    r"|\b(?:ssn|social security|sozialversicherungs\w*|steuer-?id\w*|passport(?: (?:number|nr|no\.?))?(?= (?:is"
    r"|was)\b| ?:)|passport (?:number|nr|no\.)|nhs (?:number|no\.?)|reisepass\w*"
    r"|ausweisn\w*)[^\n.]{0,20}?(?:\d[\d /-]{4,}|\b(?=\w{0,20}\d\w{0,20}\d)\w{6,})"
    r"|\b(?:ni|national insurance) (?:number|no\.?)[^\n.]{0,12}? [a-z]{2} ?\d\d ?\d\d ?\d\d ?[a-d]\b"
    r"|\bsort code[^\n.]{0,10}? \d\d[- ]?\d\d[- ]?\d\d\b"
    r"|\b(?:card|account|konto|kreditkarten?|karten|tarjeta|cuenta|carte|compte|conto|carta)"
    r"[ -]?(?:number|no\.?|nr\.?|nummer|n[úu]m[ée]ro)?(?: \w+){0,2}?[\s:]{0,3}(?:is|ist|est|es|è)?[\s:]{0,2}"
    r"\d[\d -]{7,}\d",
    re.IGNORECASE,
)
_NAMED_VALUE = re.compile(
    # A list of variables: {"name": "DB_PASSWORD", "value": "..."}, <add key="DbPassword" value="..."/>.
    r"\b(?:name|key|variable|var)[\"']?\s{0,4}[:=]\s{0,4}[\"']?[\w.-]{0,60}?"
    r"(?:(?P<password>pass(?:word|wd|phrase)?|pwd)|api_?key|(?:secret|access|private)_?key|secret|token)"
    rf"[\"']?\s{{0,4}}[,;]?\s{{1,40}}[\"']?value[\"']?\s{{0,4}}[:=]{_VALUE}{_CODE}{_SAID_OF_ONE}"
    r"(?(password)[^\s\"',;]{4,}|(?=[^\s\"']{0,80}\d)(?=[^\s\"']{0,80}[a-z])[^\s\"',;]{8,})",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_LONG_WORD = re.compile(r"[\w.+/=-]{14}")
_SIGNS_OF_A_WORD = (
    "pass", "pw", "kennwort", "zugangscode", "contrase", "mot de", "senha", "palavra",
    "wachtwoord", "lösenord", "adgangskode", "salasana", "hasło", "heslo", "jelszó", "parol", "şifre", "şi̇fre",
    "şıfre",
    "парол",
    "κωδ", "kata sand", "mật", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "รหัสผ่าน", "كلمة", "סיסמה",
    "पासवर्ड", "lozink", "slaptažod", "salasõna", "parool", "phrase", "seed words", "mnemonic", "jelsz",
)  # fmt: skip
_SIGNS_OF_ONE = ("=", ":", "-----begin", "mysql", *_SIGNS_OF_A_WORD)
"""One of them stands in every text that holds a secret, as ``casefold`` has it, or a digit, or a long word."""
_SIGNS_OF_A_SHAPE = (
    "sk-", "pk-", "rk-", "wk-", "sk_", "pk_", "rk_", "wk_", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_",
    "akia", "asia", "xox", "xapp-", "hooks.slack.", "npm_", "aiza", "ya29.", "hf_", "sg.", "pypi-", ":aa", "dop_v1_",
    "shpat_", "shpss_", "shpca_", "whsec_", "eyj", "-----begin ", "bearer", "basic", "dckr_",
    "mysql", "cookie", "curl",
)  # fmt: skip
_NUMBERS = re.compile(
    r"[a-z]{2}\d{2}(?: ?[0-9a-z]{4}){3}|\d{3}-\d{2}-\d{4}|\d{4}[ -]\d{4}[ -]\d{4}|3[47]\d\d[ -]\d{6}|gl[a-z]{2,5}-"
)
_SIGNS_WITH_A_DIGIT = (
    "key", "token", "secret", "code", "pin", "tan", "puk", "cvv", "cvc", "api", "login", "log-in", "credentials",
    "zugangsdaten", "user", "benutzer", "usuario", "utilisateur", "ssn", "social security", "sozialversicherung",
    "steuer", "ausweis", "card", "account", "konto", "kart", "tarjeta", "cuenta", "cart", "compte", "conto",
    "combination", "alarm", "kod", "códi", "codi", "safe", "lock", "pad", "box", "gate", "door",
    "passport", "nhs", "ni num", "ni no", "national ins", "2fa", "totp", "otp", "mfa", "security", "creds",
    "cassaforte",
    "код", "رمز", "kasten", "şifre",
)  # fmt: skip
_SIGNS_WITH_A_VALUE = ("key", "token", "secret", "credentials")
_ANNOUNCES = re.compile(
    rf"(?:{_START}(?:{_PASSWORD}|api[ _-]?key|(?:access|auth)[ _-]?token|secret(?:[ _-](?:access[ _-])?key)?"
    rf"|pin|cvv|cvc)\b{_OF}"
    rf"|(?:{_PASSWORD_WITHOUT_SPACES}))\s*[:=：]\W*\Z",
    re.IGNORECASE,
)
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL)


def has_secret(text: str) -> bool:
    """Whether a number of an account or card, a password, or a key stands in a text."""
    # Most sentences have no sign of one, which is seen in a fiftieth of the time that the expressions take.
    if not _may_hold_one(text):
        return False
    folded = _folded(text)
    if _may_have_shape(folded) and _SHAPES.search(text):
        return True
    if _may_have_word(folded) and (_WORDS.search(text) or has_named_value(text)):
        return True
    return any(_is_card(match[0]) for match in _CARD.finditer(text))


def any_secret(texts: Iterable[str | None]) -> bool:
    """Whether one of several texts, of which some may not be there, holds a secret."""
    return any(has_secret(text) for text in texts if text)


def has_named_value(text: str) -> bool:
    """Whether a text holds the value of a variable of which it says that it is a secret."""
    return "value" in text.casefold() and _NAMED_VALUE.search(text) is not None


def announces_secret(text: str) -> bool:
    """Whether a text ends in what a secret stands behind, which then follows in the next line: ``Password:``."""
    # Looked for first: the expression tries every word.
    return (":" in text or "=" in text or "：" in text) and _ANNOUNCES.search(text) is not None


def may_hold_secret(text: str) -> bool:
    """Whether a text has any sign of a secret, or of one that is announced; quick, and mostly wrong."""
    folded = _folded(text)
    signs = (*_SIGNS_OF_A_WORD, *_SIGNS_WITH_A_DIGIT, *_SIGNS_WITH_A_VALUE)
    return _may_have_shape(folded) or any(map(folded.__contains__, signs)) or _CARD.search(text) is not None


KEY_BLOCK = "-----BEGIN PRIVATE KEY-----"
"""Stands in the place of a private key, in one line, and is known for one."""


def without_key_blocks(text: str) -> str:
    """Return a text with one line for each private key that is written over several."""
    return _KEY_BLOCK.sub(KEY_BLOCK, text)


def _may_hold_one(text: str) -> bool:
    if _DIGIT.search(text) or _LONG_WORD.search(text):
        return True
    folded = text.casefold()
    return any(map(folded.__contains__, _SIGNS_OF_ONE))


def _folded(text: str) -> str:
    # Each of these is an i to the expressions.
    return text.casefold().replace("i̇", "i").replace("ı", "i")


def _may_have_shape(folded: str) -> bool:
    """Whether a text, as ``casefold`` has it, has a sign of what is told by its shape."""
    has_address = "://" in folded and "@" in folded
    return has_address or any(map(folded.__contains__, _SIGNS_OF_A_SHAPE)) or _NUMBERS.search(folded) is not None


def _may_have_word(folded: str) -> bool:
    """Whether a text, as ``casefold`` has it, has a sign of what is told by the word before it."""
    if any(map(folded.__contains__, _SIGNS_OF_A_WORD)):
        return True
    if ("=" in folded or ":" in folded) and any(map(folded.__contains__, _SIGNS_WITH_A_VALUE)):
        return True
    return _DIGIT.search(folded) is not None and any(map(folded.__contains__, _SIGNS_WITH_A_DIGIT))


def _is_card(digits: str) -> bool:
    """Whether the last digit is the check digit of the others (Luhn's)."""
    doubled = [int(one) * (1 + position % 2) for position, one in enumerate(reversed(digits))]
    return sum(one - 9 if one > 9 else one for one in doubled) % 10 == 0
