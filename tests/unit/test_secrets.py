"""What is a secret and what only looks like one: one table for the whole product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.sessions.blocks import mask_value
from shared.text.lines import clean, shorten
from shared.text.secrets import announces_secret, has_secret
from shared.text.sentences import mask_secrets, sentences, without_secrets

SECRETS = (
    "Chave API: fake-sk-Azulejo77", "la clave de API es abc123def", "APIキーはabc12345です",
    "My API key is sk-test-51Habcd1234567890 and the staging host is stage.example.org",
    "use sk-proj-Zm9vYmFyMTIzNDU2Nzg5MA for it", "token ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "AKIAIOSFODNN7EXAMPLE is the one for the bucket", "glpat-xYz123_456-AbCdEfGh", "xoxb-123456789012-abcdefABCDEF",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123", "Authorization: Bearer 8f14e45fceea167a5a36dedd4bea2543",
    "-----BEGIN RSA PRIVATE KEY-----", "postgresql://shop:s3cr3t@db.example.org/shop",
    "export DEPLOY_TOKEN=abcdef123456", "STRIPE_SECRET='whatever-it-is'", "DB_PASSWORD=swordfish",
    "my password is hunter2", "the password for the vet portal is Tr0ub4dor&3", "My wifi pw is quark77x now.",
    "password: swordfish", '{"user": "ada", "password": "swordfish"}', "Password:\nhunter2hunter2",
    "mein Passwort lautet Sommer2024!", "Das Kennwort ist geheim123", "mi contraseña es gato1234",
    "mon mot de passe est soleil99", "a minha senha é abacate7", "mijn wachtwoord is fiets123", "moje hasło: kotek77",
    "мой пароль: kotik1990", "şifrem: deniz1453", "パスワードはsakura2024です", "密码是abc12345",
    "비밀번호는 haneul88 이야", "my pin is 4711", "PIN: 4711", "PIN code 4711", "the CVV is 123",
    "my access token is 9f8e7d6c5b4a", "the client secret is Q2xpZW50U2VjcmV0MTIz", "login: admin / hunter22",
    "username bob pass swordfish", "my card is 5500 0000 0000 0004", "4111 1111 1111 1111", "4111111111111111",
    "My IBAN is DE12 1234 1234 1234 1234 00, I live in Ulm", "GB29 NWBK 6016 1331 9268 19",
    "my account number is 12345678 90", "my social security number is 078-05-1120", "passport number C01X00T47",
)  # fmt: skip
_SAID_OTHERWISE = (
    "I changed my password to Regenschirm7 yesterday.", "We set the password to 'correct horse'",
    "The new password will be Regenschirm!7 from May.", "My password? Regenschirm7.",
    "The password, Regenschirm7, works everywhere.", "Regenschirm7 is my password.",
    "Regenschirm!7 ist mein Passwort.", "Please use Regenschirm7 as the password.",
    "Als Passwort nehme ich immer Regenschirm7.", "Ich habe mein Passwort in Regenschirm7 geändert.",
    "router password → Regenschirm7", "My passphrase is lantern otter velvet nine",
    "my seed phrase: ocean velvet lantern otter copper maple", "My 2FA code is 402117",
    "The alarm code of our house is 7731", "codes for the sitter: gate 4471#, alarm 9083",
    "the key safe by the door is 4471 so you can tell the nurse", "Gate code 4471", "my door code: 4471",
    "lockbox 4471", "the code for the front door is 4471", "Der Code für die Haustür ist 4471",
    "le code de la porte est le 4471",
    "os.environ['DB_PASSWORD']='heron2swift'", "curl -u svc:heron2swift https://h.example", "Le digicode c'est 4471B",
    "mi contraseña es gatito.azul.99", "combinazione cassaforte 4471", "мой пароль от почты котик2020",
    "portkoden är 4471 och jag bor här", "kod do domofonu to 4471", "kapı şifresi 4471", "رمز الباب 4471",
    "Der Schlüsselkasten geht mit 4471 auf", "gate: 4471, then second left", "the safe opens with 29 41 77",
    "my security question answer is Rex2015", "2fa seed JBSWY3DPEHPK3PXP for the bank",
    "the login is marek@ex.example with Quasar88zulu", "NAS creds: marek/Quasar88zulu",
    "the safe's combination is 294177", "sort code 12-34-56", "my passport is 512883904",
    "my NI number is QQ 12 34 56 C", "my NHS number is 943 476 5919", "What is the gate code? 4471",
    "What is its password? Quasar-88-zulu",
    "el código del portal es 4471", "kod do bramy: 4471", "Türcode 4471",
    "The combination of my safe is 31-7-22", "Salasanani on Sateenvarjo7", "A jelszavam Esernyo77",
    "Ο κωδικός μου είναι Ombrela77", "Moja lozinka je Kisobran77", "Parola mea este Umbrela77", "CVV 481",
    "dckr_pat_Zm9vYmFyMTIzNDU2Nzg", "mysql -u root -pRegenschirm7", "mysql -u root -phunter",
    "Set-Cookie: sid=Zm9vYmFyMTIzNDU2",
)  # fmt: skip
_UNDER_A_PREFIXED_NAME = (
    "POSTGRES_PASSWORD: hunter2-Kestrel", "db_password: Kestrel-Pond", "userPassword: Kestrel", "API_KEY: swordfish",
    "Please use DB_PASSWORD: Kestrel-Pond77 for staging.", "AWS_SECRET_ACCESS_KEY: wJalrXUtnFEMI/K7MDENG",
    "githubToken: abcdefgh12345678",
)  # fmt: skip
HARMLESS = (
    "the safe is from 1962", "the key safe was put in in 2023", "gate 4471 at the airport", "key box of 5000 parts",
    "my passport is valid until 2031", "the safe limit is 5000 mg", "gate: 2100 x 900 mm", "creds: see vault/prod",
    "the NHS number to call is 111", "curl --user '{user}:{pass}'", "пароль от почты забыл", "What is the code? 2021",
    "the gate code changed in 2024", "the lockbox costs 4500 eur", "keypad with 1024 keys",
    "mysql -h db -port 3306", "Cookie: consent=accepted-all",
    "KEY: the main points", "API_KEY: required",
    "I changed my password to something longer.", "My passphrase is too long to remember.",
    "The verification code never came.", "We use bcrypt as the password hash.",
    "The combination of lemon and mint is lovely.", "Her birthday is on 12-34 street, that is my guess.",
    "Schlüssel: 4 Stück, und der für die API liegt im Büro", "my password manager is Bitwarden",
    "The password is too long", "I forgot my password", "the password field is required",
    "the password policy is strict", "our password hashing is Argon2id with 19 MiB", "the pin board is 120 cm wide",
    "pin 13 is the LED", "my order number is 1234567890123456", "order 4929-33-1234",
    "call me at +49 170 1234 5678 90", "my phone number is 555-867-5309", "ISBN 9783161484100",
    "The user lives in flat B2 and bought a Canon R6", "User: bought iPhone 13", "the key is under the mat",
    "the key is to rest every 45 minutes", "the secret is that I love him", "The token is refreshed hourly",
    "token = get_token(user)", "password: str", "def login(user: str, password: str) -> bool",
    "secret_key = settings.SECRET", "API_KEY=$API_KEY", "commit 16c7e42f292c6912e7710c838347ae178b4a0001",
    "the access code is Python", "login to S3 fails since Tuesday", "https://example.org/a/b?page=2",
    "We keep keys in a vault and rotate tokens every 90 days", "the bank account is with Nordea since 2019",
    "my library card is green", "sk-learn and scikit-learn are the same", "The meeting is on 2026-01-05 at 10:30",
    "Eine Pinnwand ist 90 cm breit", "budget is 2000 2500 3000 euros",
    "https://images.example.org/cHJpdmF0ZS9sci9pbWFnZXMvd2Vic2l0ZS8yMDIyLTExL2ZsNDg2NDgxOTYyMDMtaW1hZ2UuanBn.jpg",
)  # fmt: skip


@pytest.mark.parametrize("text", SECRETS + _SAID_OTHERWISE + _UNDER_A_PREFIXED_NAME)
def test_what_opens_or_pays_for_something_is_a_secret(text: str) -> None:
    assert has_secret(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert not has_secret(text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "again",
    ["sk-", "密码", "password.", "login=", "eyJaaaaaaaa-", "key=", "password to ", "use a1 as ", "TOKEN", "a1", "1 ",
     '"a1 is my ', "cookie: ", "seed phrase ", "a@", "db_password_", "aPassword", "A_KEY", "a_key: ", "a_token ",
     'name: "password" ', "name=a_", "name: token, value: ", 'key="', "value=a1 "],
)  # fmt: skip
def test_however_long_a_text_repeats_itself_it_is_looked_through(again: str) -> None:
    """By expressions that go once through it: with others such a message took minutes."""
    said = again * (200_000 // len(again))
    assert not has_secret(said + " I live in Graz")
    assert isinstance(sentences(said), list)


@pytest.mark.parametrize(
    "given_to_a_tool",
    [
        {"db_password": "hunter"}, {"DB_PASSWORD": "hunter"}, {"userPassword": "hunter"}, {"client_secret": "hunter"},
        {"AWS_SECRET_ACCESS_KEY": "hunter"}, {"token": "hunter12345678"}, {"password": {"value": "hunter"}},
        {"password": {"values": ["hunter"]}}, {"arguments": ["--password", "hunter"]},
        {"password": 4711}, {"pin": 4711}, {"login": {"password": 4711}},
        {"env": [{"name": "DB_PASSWORD", "value": "hunter"}, {"name": "DB_HOST", "value": "db"}]},
        {"Value": "hunter", "Name": "DB_PASSWORD"}, {"key": "API_TOKEN", "value": "hunter12345678"},
        {"password": {"type": "string", "default": "hunter"}}, {"password": {"type": "text", "value": "hunter"}},
    ],
)  # fmt: skip
def test_what_a_tool_was_given_under_a_name_for_a_secret_is_masked(given_to_a_tool: dict[str, Any]) -> None:
    shown, times = mask_value(given_to_a_tool)
    assert times == 1 and not any(one in str(shown) for one in ("hunter", "4711"))


@pytest.mark.parametrize(
    "given_to_a_tool",
    [
        {"max_tokens": 4096}, {"pin": 13}, {"password": True}, {"password": None}, {"user": {"path": "/a/b1234"}},
        {"fields": ["password", "street"]}, {"arguments": ["--ask-password", "--verbose"]}, {"key": "street"},
        {"password": {"type": "string"}}, {"password": "string"}, {"api_key": {"type": "integer", "maximum": 1000}},
        {"password": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]}},
        {"properties": {"password": {"type": ["string", "null"], "format": "password", "minLength": 12}}},
        {"password": {"$ref": "#/definitions/Password"}}, {"name": "DB_PASSWORD", "value": "${DB_PASSWORD}"},
        {"name": "password", "type": "string"}, {"name": "DB_HOST", "value": "db"},
    ],
)  # fmt: skip
def test_what_a_tool_was_given_else_is_shown(given_to_a_tool: dict[str, Any]) -> None:
    assert mask_value(given_to_a_tool) == (given_to_a_tool, 0)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ('{"name": "DB_PASSWORD", "value": "hunter"}', "[…]"),
        ('{\n  "name": "DB_PASSWORD",\n  "value": "hunter"\n}', '{\n  "name": "DB_PASSWORD",\n[…]\n}'),
        ("- name: API_TOKEN\n  value: hunter12345\n- name: PORT", "- name: API_TOKEN\n[…]\n- name: PORT"),
        ('<add key="DbPassword" value="hunter"/>', "[…]"),
    ],
    ids=["in a line", "over lines", "yaml", "xml"],
)
def test_of_a_variable_that_is_named_as_a_secret_the_value_is_masked(said: str, shown: str) -> None:
    assert mask_secrets(said) == (shown, 1)


@pytest.mark.parametrize(
    "said",
    [
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db",
        '{"name": "max_token", "value": "4096"}',
        '{"name": "password", "type": "password"}', '{"name": "DB_PASSWORD", "value": "${DB_PASSWORD}"}',
        '"password": {"type": "string", "minLength": 12}', "password: string | undefined", "password: str = Field()",
    ],
)  # fmt: skip
def test_where_only_a_variable_or_a_type_is_told_nothing_is_masked(said: str) -> None:
    assert mask_secrets(said) == (said, 0)


def test_what_follows_an_announced_password_is_no_sentence_and_is_masked() -> None:
    said = "The vet portal needs one. Password:\nhunter2hunter2\nThe portal is slow on Mondays."
    assert announces_secret("Password:")
    assert sentences(said) == ["The vet portal needs one.", "The portal is slow on Mondays."]
    assert without_secrets(said, "[…]") == "The vet portal needs one. […]\n[…]\nThe portal is slow on Mondays."


@pytest.mark.parametrize("fence", ["```", "~~~", "```sh"])
def test_an_announced_secret_in_a_code_fence_is_masked_and_the_fence_stands(fence: str) -> None:
    said = f"The SMTP password:\n\n{fence}\nkestrel\n{fence[:3]}\nIt is new."
    assert without_secrets(said) == f"[…]\n\n{fence}\n[…]\n{fence[:3]}\nIt is new."


def test_a_private_key_is_masked_with_all_its_lines() -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBKcwggSjAgEAAoIBAQC7\n-----END PRIVATE KEY-----"
    assert without_secrets(f"Here is the key:\n{key}\nPlease rotate it.", "[…]").splitlines()[1:] == [
        "[…]",
        "Please rotate it.",
    ]
    assert sentences(f"Keep it.\n{key}\nIt is from May.") == ["Keep it.", "It is from May."]


WORDS = st.lists(st.text("abcdefgéß0123456789'.,;:!?-", min_size=1, max_size=12), min_size=1, max_size=60).map(" ".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("  two\n\n lines\t here ", "two lines here", id="white space"),
        pytest.param("a\x00b\x1b[31mc", "a b [31mc", id="control characters"),
        pytest.param("pass\u200bword\ufeff \u202eright", "password right", id="invisible characters"),
        pytest.param("half \ud83d pair", "half pair", id="lone surrogate"),
        pytest.param("👩\u200d🔬 works", "👩\u200d🔬 works", id="joined emoji stay"),
        pytest.param(" \n ", "", id="nothing"),
    ],
)
def test_cleaning_gives_one_printable_line(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("Short enough.", 20, "Short enough.", id="fits"),
        pytest.param("Likes tea very much. Hates morning coffee now", 30, "Likes tea very much.", id="sentence end"),
        pytest.param("Allergic to peanuts, so every recipe avoids them", 30, "Allergic to peanuts", id="clause end"),
        pytest.param("Yes. Moved to Rome in May, and found a job", 40, "Yes. Moved to Rome in May", id="late clause"),
        pytest.param("Wants the report brought to the desk now", 31, "Wants the report brought", id="no loose words"),
        pytest.param("Sees the dentist Dr. Adeyemi-Osterhagen tomorrow", 24, "Sees the dentist Dr.", id="abbreviation"),
        pytest.param("Paid 3.5 million for the house on the hill", 12, "Paid 3.5", id="decimal point"),
        pytest.param("https://example.test/" + "x" * 40, 30, "https://example.test/" + "x" * 9, id="one long word"),
        pytest.param("他喜欢茶。他不喜欢咖啡和牛奶", 8, "他喜欢茶。", id="script without spaces"),
        pytest.param("Keeps bees — three hives behind the barn", 20, "Keeps bees", id="dash"),
    ],
)
def test_a_long_text_ends_at_the_best_place(text: str, limit: int, expected: str) -> None:
    assert shorten(text, limit) == expected


@given(WORDS, st.integers(1, 300))
@example(text=": : 00", limit=5)
def test_what_is_shortened_is_a_beginning_that_fits_and_keeps_words_whole(text: str, limit: int) -> None:
    line = clean(text)
    short = shorten(text, limit)
    assert short and len(short) <= limit
    assert line.startswith(short)
    if len(line.split(" ")[0]) <= limit:
        rest = line[len(short) :]
        assert not rest or not rest[0].isalnum()


@given(st.text(max_size=400), st.integers(1, 200))
def test_shortening_any_text_twice_changes_nothing_more(text: str, limit: int) -> None:
    once = shorten(text, limit)
    assert len(once) <= limit
    assert shorten(once, limit) == once
    assert bool(once) == bool(clean(text))


PASSWORD_WORDS = (
    "password", "passwort", "passcode", "passphrase", "passwd", "pw", "pwd", "kennwort", "zugangscode", "contraseña",
    "senha", "palavra-passe", "wachtwoord", "lösenord", "adgangskode", "passord", "salasana", "hasło", "heslo",
    "jelszó", "parola", "parole", "şifre", "пароль", "κωδικός", "mot de passe", "kata sandi", "mật khẩu",
)  # fmt: skip


@pytest.mark.parametrize("word", PASSWORD_WORDS)
@pytest.mark.parametrize("written", [str.lower, str.upper, str.capitalize])
def test_a_password_without_a_digit_is_known_by_each_word_for_it(word: str, written: Callable[[str], str]) -> None:
    assert has_secret(f"{written(word)}: swordfish")


@pytest.mark.parametrize(
    "key",
    [
        "ghp_abcdefghijklmnop", "npm_abcdefghij", "xoxb-abcdefghij", "hf_abcdefghijklmnop", "eyJabcdefgh.abcdefgh",
        "whsec_abc+efgh/jklmnop=", "shpat_abcdefghijklmnop", "ftp://ann:swordfish@host", "LOGIN ann, PASS: swordfish",
        "-----BEGIN PRIVATE KEY", "https://hooks.slack.com/services/a/b/c", "API_KEY = swordfish",
    ],
)  # fmt: skip
def test_a_key_without_a_digit_is_known(key: str) -> None:
    assert has_secret(key)
