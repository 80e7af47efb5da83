"""The verdict on single answers."""

import pytest

from supersession.answers import Verdict, mentions, verdict
from supersession.episode import NOT_STATED

CURRENT, STALE, HEDGED, ABSTAIN, OTHER = Verdict.CURRENT, Verdict.STALE, Verdict.HEDGED, Verdict.ABSTAIN, Verdict.OTHER
GYM, OLD_GYM = "Iron Temple", "Gold's Gym"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Iron Temple", CURRENT),
        ("iron temple.", CURRENT),
        ("It's the Iron Temple gym", CURRENT),
        ("You go to Iron Temple now, before that it was Gold's Gym.", CURRENT),
        ("Iron Temple (previously Gold's Gym)", CURRENT),
        ("Iron Temple instead of Gold's Gym", CURRENT),
        ("Not Gold's Gym but Iron Temple", CURRENT),
        ("You used to go to Gold's Gym, but now Iron Temple.", CURRENT),
        ("You moved from Gold's Gym to Iron Temple.", CURRENT),
        ("No longer Gold's Gym; Iron Temple.", CURRENT),
        ("Iron Temple, though earlier you said Gold's Gym", CURRENT),
        ("Gold's Gym -> Iron Temple", CURRENT),
        ("Gold's Gym", STALE),
        ("It is Gold's Gym, not Iron Temple.", STALE),
        ("You moved from Iron Temple to Gold's Gym.", STALE),
        ("Either Gold's Gym or Iron Temple", HEDGED),
        ("Iron Temple or Gold's Gym", HEDGED),
        ("Gold's Gym, Iron Temple", HEDGED),
        ("Iron Temple. Gold's Gym.", HEDGED),
        ("Answer: Iron Temple\nAnswer: Gold's Gym", HEDGED),
        ("unknown", ABSTAIN),
        ("I don't know.", ABSTAIN),
        ("The notes do not say which gym.", ABSTAIN),
        ("unknown. Iron Temple", HEDGED),
        ("It is no longer Gold's Gym.", OTHER),
        ("It is not Iron Temple.", OTHER),
        ("Planet Fitness", OTHER),
        ("", OTHER),
        ("?!", OTHER),
    ],
)
def test_names(answer: str, expected: Verdict) -> None:
    assert verdict(answer, GYM, [OLD_GYM], question="Which gym do I go to?") == expected


@pytest.mark.parametrize(
    "wrapper",
    [
        "Answer: {}",
        "**Final answer:** {}",
        "**{}**",
        "`{}`",
        "```\n{}\n```",
        '{{"answer": "{}"}}',
        "\\boxed{{{}}}",
        "<answer>{}</answer>",
        "- {}",
        "“{}”",
    ],
)
def test_wrappers_change_nothing(wrapper: str) -> None:
    assert verdict(wrapper.format(GYM), GYM, [OLD_GYM]) == CURRENT
    assert verdict(wrapper.format(OLD_GYM), GYM, [OLD_GYM]) == STALE


@pytest.mark.parametrize(
    ("gold", "same", "different"),
    [
        ("seven", ["7", "7.", "Seven of them", "You have 7 bikes"], ["17", "7:30", "eight", "more than 7", "70"]),
        ("1300", ["1,300", "1.3k", "thirteen hundred", "about 1300"], ["130", "13000", "$1300.50"]),
        ("$400,000", ["400k", "$400K", "400,000 dollars", "It was $400,000.00"], ["$40,000", "400,000 euros", "$4 million"]),
        ("7:30 am", ["7:30", "7:30 a.m.", "07:30", "half past seven", "seven thirty", "7.30 am"], ["7:30 pm", "19:30", "7 am"]),
        ("7 pm", ["19:00", "7:00 PM", "seven in the evening", "7"], ["7 am", "17:00"]),
        (
            "25 minutes and 50 seconds (or 25:50)",
            ["25:50", "25 min 50 s", "25 minutes, 50 seconds"],
            ["27:12", "25 minutes", "26 minutes 50 seconds"],
        ),
        ("9 months", ["nine months", "about 9 months", "9"], ["9 weeks", "9 years", "six months"]),
        ("1.5 hours", ["90 minutes", "an hour and a half", "1h 30m", "one and a half hours"], ["1 hour", "15 hours"]),
        ("10-12 hours", ["10 to 12 hours", "between 10 and 12 hours", "10–12"], ["10 hours", "5-6 hours"]),
        (
            "three times a week",
            ["3x weekly", "3 times per week", "thrice a week", "three days a week"],
            ["twice a week", "three times a month"],
        ),
        ("every other week", ["biweekly", "every two weeks", "fortnightly", "once every 2 weeks"], ["every week", "monthly"]),
        ("Friday", ["on Fridays", "Fri", "friday evening"], ["Thursday", "Sunday"]),
        ("March 5", ["5 March", "March 5th", "the 5th of March", "3/5/2024"], ["March 6", "April 5", "March"]),
        ("20%", ["20 percent", "20"], ["25%", "2%"]),
        ("5-2", ["5 wins and 2 losses", "5 - 2", "5–2"], ["3-2", "2-5"]),
        ("yes", ["Yes.", "Yes, you did finish it", "yeah"], ["No", "nope", "Yes and no"]),
        ("TechCorp", ["Tech Corp", "at techcorp"], ["Tech", "TechCore"]),
        ("the suburbs", ["suburbs", "back to the suburbs again", "a suburb"], ["the city", "suburban"]),
        ("Ford F-150 pickup truck", ["Ford F-150", "a Ford F150 pickup"], ["Ford Mustang", "pickup truck"]),
    ],
)
def test_typed_values(gold: str, same: list[str], different: list[str]) -> None:
    for answer in same:
        assert verdict(answer, gold) == CURRENT, answer
    for answer in different:
        assert verdict(answer, gold) != CURRENT, answer


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("$45 now, up from $40", CURRENT),
        ("It went from $40 to $45", CURRENT),
        ("$40", STALE),
        ("$40, now $45", CURRENT),
        ("$40 or $45", HEDGED),
        ("$40-$45", HEDGED),
        ("Not $45", OTHER),
        ("It was $40, not $45", STALE),
        ("$41, $42, $43, $44, $45, $46", HEDGED),
    ],
)
def test_history_beside_money(answer: str, expected: Verdict) -> None:
    assert verdict(answer, "$45", ["$40"], ["$90"], "How much is my gym membership?", "money") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("4 -> 5", CURRENT),
        ("First 4, now 5", CURRENT),
        ("5 now, 4 before", CURRENT),
        ("5, previously 4", CURRENT),
        ("From 4 to 5", CURRENT),
        ("When you started you led 4 engineers. Now you lead 5 engineers.", CURRENT),
        ("5 -> 4", STALE),
        ("4", STALE),
        ("5 and 5", STALE),
        ("4 -> 6", OTHER),
        ("unknown", ABSTAIN),
    ],
)
def test_before_and_now(answer: str, expected: Verdict) -> None:
    assert verdict(answer, "4 -> 5", question="How many engineers did I lead at first, and how many now?", value_type="both") == expected


def test_previous_questions_take_the_history() -> None:
    question = "What was my previous frequent flyer status before I got the current one?"
    assert verdict("It was Premier Silver, now it is Premier Gold.", "Premier Silver", ["Premier Gold"], question=question) == CURRENT
    assert verdict("Premier Gold", "Premier Silver", ["Premier Gold"], question=question) == STALE


def test_direction() -> None:
    for answer in ("increase", "You increased it.", "It went up", "more", "Up, from one cup to two"):
        assert verdict(answer, "increase", ["decrease"], value_type="direction") == CURRENT, answer
    assert verdict("decreased", "increase", ["decrease"], value_type="direction") == STALE
    assert verdict("increase or decrease", "increase", ["decrease"], value_type="direction") == HEDGED


@pytest.mark.parametrize("gold", [NOT_STATED, "The information provided is not enough. You mentioned Harajuku but not Shinjuku."])
def test_unanswerable_questions_want_an_abstention(gold: str) -> None:
    for answer in (
        "unknown",
        "Not stated.",
        "You never told me that.",
        "I have no information about Shinjuku.",
        "There is no mention of it in your notes.",
    ):
        assert verdict(answer, gold) == ABSTAIN, answer
    for answer in ("3 months", "Tokyo", "unknown. 3 months", "unknown, or 3 months"):
        assert verdict(answer, gold, others=["Tokyo"]) not in (ABSTAIN, CURRENT), answer


def test_reasoning_counts_for_its_conclusion_only() -> None:
    reasoning = "**Step 1:** In Session 1 you own three bikes.\n\n**Step 2:** In Session 7 you own 4.\n\n" + "More thoughts on this. " * 20
    assert verdict(reasoning + "\n\nTherefore, you own **four** bikes.", "4", ["three"], question="How many bikes do I own?") == CURRENT
    assert verdict(reasoning + "\n\n**Answer:** three bikes", "4", ["three"], question="How many bikes do I own?") == STALE


def test_disguises_do_not_hide_values() -> None:
    assert verdict("Gold\u200b's G\u200dym or Iron Temple", GYM, [OLD_GYM]) == HEDGED
    assert verdict("Gоld's Gуm or Iron Temple", GYM, [OLD_GYM]) == HEDGED


def test_mentions_respects_token_boundaries_and_spellings() -> None:
    notes = "gym: Iron Temple (was Gold's Gym); wakes 7:30 am; leads seven engineers; yoga 3x weekly; 17 plants"
    for value in ("Iron Temple", "Gold's Gym", "7:30 am", "7", "three times a week", "17"):
        assert mentions(notes, value), value
    for value in ("Temple Gym", "30", "1", "8:30 am", "twice a week"):
        assert not mentions(notes, value), value


@pytest.mark.parametrize(
    ("question", "gold", "stale", "right", "wrong"),
    [
        (
            "Where do I currently keep my old sneakers?",
            "in a shoe rack in my closet",
            "under my bed",
            [
                "You keep your old sneakers on the shoe rack in your closet.",
                "Initially, you kept them under your bed. More recently you moved them to a shoe rack in your closet.",
                "in a shoe rack",
            ],
            ["Under your bed.", "In the garage", "They were in a shoe rack, but now they are under your bed."],
        ),
        (
            "Where did I initially keep my old sneakers?",
            "under my bed",
            "in a shoe rack in my closet",
            ["You initially kept them under your bed, now they are in a shoe rack in your closet.", "Under the bed."],
            ["In the shoe rack in your closet."],
        ),
        (
            "How much weight have I lost since I started going to the gym?",
            "10 pounds",
            "5 pounds",
            ["10 lbs", "You have lost 10 pounds, up from 5 pounds.", "10"],
            ["10 kg", "5 pounds", "10 ounces"],
        ),
        (
            "What is my highest score in Ticket to Ride?",
            "132 points",
            "124 points",
            ["132", "It is now 132 points, previously 124."],
            ["124 points"],
        ),
        (
            "What was my previous stance on spirituality?",
            "A staunch atheist",
            "agnostic",
            ["You were a staunch atheist."],
            ["You are agnostic."],
        ),
        (
            "Where is the painting hanging?",
            "in your bedroom",
            "in the living room",
            ["In the bedroom, above your bed."],
            ["the living room"],
        ),
        (
            "What type of rice is my favorite?",
            "Japanese short-grain rice",
            "basmati",
            ["short-grain Japanese rice"],
            ["Basmati rice", "Japanese food"],
        ),
        (
            "Do I go to the gym more often than I did?",
            "Yes",
            "no",
            ["Yes, you go four times a week now.", "You do go to the gym more often than you did."],
            ["No."],
        ),
        (
            "How often do I see my therapist?",
            "every week",
            "every two weeks",
            ["weekly", "Once a week, it used to be every two weeks."],
            ["biweekly"],
        ),
        ("What speed is my internet plan?", "500 Mbps", "300 Mbps", ["500 Mbps", "It was upgraded from 300 to 500 Mbps."], ["300 Mbps"]),
        (
            "How long is my commute?",
            "45 minutes each way",
            "30 minutes",
            ["45 minutes", "It takes 45 minutes each way."],
            ["half an hour", "an hour"],
        ),
    ],
)
def test_golds_as_benchmarks_write_them(question: str, gold: str, stale: str, right: list[str], wrong: list[str]) -> None:
    for answer in (gold, *right):
        assert verdict(answer, gold, [stale], question=question) == CURRENT, answer
    for answer in (stale, *wrong):
        assert verdict(answer, gold, [stale], question=question) != CURRENT, answer


@pytest.mark.parametrize("answer", ["7 or so", "Seven or so.", "about 7 or so plants", "7 or so, I think"])
def test_or_so_is_no_alternative(answer):
    assert verdict(answer, "7", ["5"], question="How many plants do I own?") == CURRENT
