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
        ("Bitte vergiss, was ich gerade gesagt habe.", "", _BEFORE),
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
        ("Vergiss das bitte wieder.", "", _BEFORE),
        ("Vergeet dat maar.", "", _BEFORE),
        ("Vergeet, wat ik net zei.", "", _BEFORE),
        ("Onthoud niets uit dit gesprek.", "", _TALK),
        ("请忘掉这件事。", "", _BEFORE),
        ("忘了我刚才说的吧", "", _BEFORE),
        ("From now on don't remember anything I say. I have diabetes.", "", _TALK),
        ("Don't remember: I'm gay", "", _ALONE),
        ("Don't add this to your memory: I drink.", "", _ALONE),
        ("Can you please not remember this? I drink.", "", _ALONE),
        ("Don't remember that I had an affair.", "", _ALONE),
        ("Don't save this conversation.", "", _TALK),
        ("Please don't save my address, it is 4 Elm Road.", "", _ALONE),
        ("Please don't keep that in your memory.", "", _BEFORE),
        ("dont remember this please my brother drinks", "", _ALONE),
        ("I told Tom off the record. Don't remember this: I had an affair. I fish.", "", _ALONE),
        ("I bake. He said it off the record. I ski. Don't note this: I drink. I fish.", "I bake. I ski.", _ALONE),
        ("Don't remember this: I drink. And don't save anything from this chat.", "", _TALK),
        ("Don't save anything from this chat. Forget what I just said.", "", _TALK),
    ],
)
def test_what_is_not_to_be_remembered_is_left_out(said: str, left: str, reach: Reach | None) -> None:
    assert withdrawn(said) == (left, reach)


@pytest.mark.parametrize(
    "said",
    [
        "I don't remember this street. I live in Ghent.",
        "You never keep anything, do you? I am vegan.",
        "Never store bread in the fridge.",
        "Don't keep it in the fridge, my mother says.",
        "I am allergic to nuts. Please never forget it.",
        "Remember that I don't eat this kind of fish.",
        "Ich merke mir das nicht gut.",
        "Je ne garde pas les enfants le lundi.",
        "Yo no guardo nada de carne en casa.",
        "Don't keep me waiting.",
        "Vergiss das nicht: ich bin allergisch gegen Nüsse.",
        "Vergiss es nicht, ich habe Diabetes!",
        "Vergiss das Brot nicht. Ich bin Bäcker.",
        "Vergiss, was ich gesagt habe, bitte nie.",
        "Vergeet dit niet: ik ben allergisch voor noten.",
        "Vergeet wat ik zei niet.",
        "Onthoud dit alsjeblieft: ik ben allergisch voor noten.",
        "Onthoud dat ik niet van vis houd.",
        "别忘了这件事：我对青霉素过敏",
        "不要忘记这个：我对青霉素过敏",
        "我忘了这件事",
        "她忘了这里的密码",
        "忘了这里的密码怎么办？",
        "N'oublie pas ça : je suis allergique aux noix.",
        "No olvides esto: soy alérgica a las nueces.",
        "Non dimenticare questo: sono celiaco.",
        "Não esqueça isso: sou celíaco.",
        "Nie zapomnij o tym: mam cukrzycę.",
        "Не забудь об этом: у меня диабет.",
        "Bunu unutma: cevize alerjim var.",
        "Don't save my changes.",
        "Please never save that file. I'm allergic to penicillin.",
        "Don't log this error to the console, use a logger.",
        "Don't log anything to the console.",
        "Please don't keep it from me, I'm allergic.",
        "Don't keep my hopes up. I'm allergic to nuts.",
        "Never store the following files in the repository.",
        "Can you remember this? I am vegan.",
    ],
)  # fmt: skip
def test_no_request_is_none(said: str) -> None:
    assert withdrawn(said) == (said, None)
