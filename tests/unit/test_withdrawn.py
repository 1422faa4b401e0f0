"""What somebody asks not to be remembered, in the languages people ask it in."""

import pytest

from shared.text.withdrawn import Reach, withdrawn

_ALONE, _BEFORE, _TALK = Reach.MESSAGE, Reach.BEFORE, Reach.TALK


@pytest.mark.parametrize(
    ("said", "left", "reach"),
    [
        ("Please don't remember this: I lost my job.", "", _ALONE),
        ("dont save that, i owe my uncle money", "", _ALONE),
        ("I live in Oslo. We are getting divorced, please don't note that down.", "I live in Oslo.", _ALONE),
        ("My landlord is awful. Don't remember that.", "", _ALONE),
        ("Please don't write this down but my brother drinks.", "", _ALONE),
        ("Off the record, I am leaving in June.", "", _ALONE),
        ("I am a baker. Off the record: I am leaving in June.", "I am a baker.", _ALONE),
        ("Please don't keep a record of my weight.", "", _ALONE),
        ("Don't store it.", "", _BEFORE),
        ("Forget what I just said.", "", _BEFORE),
        ("Don't save anything from this conversation. My lawyer is called Ito.", "", _TALK),
        ("Bitte nicht speichern: ich bin schwanger.", "", _ALONE),
        ("Merk dir das nicht, ich hasse meinen Chef.", "", _ALONE),
        ("Vergiss, was ich gesagt habe.", "Vergiss, was ich gesagt habe.", None),
        ("Vergiss was ich gesagt habe.", "", _BEFORE),
        ("Ne retiens pas ça : je quitte mon mari.", "", _ALONE),
        ("No guardes nada de esto: estoy enfermo.", "", _ALONE),
        ("Non memorizzare questo: ho debiti.", "", _ALONE),
        ("Não guarde isso: estou grávida.", "", _ALONE),
        ("Onthoud dit niet: ik ben ontslagen.", "", _ALONE),
        ("Nie zapisuj tego: jestem w ciąży.", "", _ALONE),
        ("Не записывай это: я ухожу с работы.", "", _ALONE),
        ("Bunu kaydetme: işten ayrılıyorum.", "", _ALONE),
        ("これは記録しないで：離婚します。", "", _ALONE),
        ("不要记住：我辞职了。", "", _ALONE),
        ("이건 기억하지 마: 나 퇴사해.", "", _ALONE),
    ],
)
def test_what_is_not_to_be_remembered_is_left_out(said: str, left: str, reach: Reach | None) -> None:
    assert withdrawn(said) == (left, reach)


@pytest.mark.parametrize(
    "said",
    [
        "I don't remember this street. I live in Ghent.", "You never keep anything, do you? I am vegan.",
        "Never store bread in the fridge.", "Don't keep it in the fridge, my mother says.",
        "I am allergic to nuts. Please never forget it.", "Remember that I don't eat this kind of fish.",
        "Ich merke mir das nicht gut.", "Je ne garde pas les enfants le lundi.",
        "Yo no guardo nada de carne en casa.", "Don't keep me waiting.",
    ],
)  # fmt: skip
def test_no_request_is_none(said: str) -> None:
    assert withdrawn(said) == (said, None)
