"""What must hold of every answer: proved on generated episodes and on arbitrary text."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supersession.answers import Verdict, mentions, verdict
from supersession.episode import NOT_STATED, Question
from supersession.sources.generator import expert_answer, generate

# Short sessions suffice here: the questions and their values are the same.
QUESTIONS = [
    question
    for split in ("train", "test", "ood")
    for index in range(40)
    for question in generate(split, 0, index, level=index % 5, questions=3).questions
]
questions = st.sampled_from(QUESTIONS)
plain_questions = st.sampled_from([q for q in QUESTIONS if q.kind in ("current", "scoped", "count") and q.stale])
golds = st.sampled_from(
    [
        "Iron Temple",
        "7",
        "$1,250",
        "7:30 am",
        "3 months",
        "March 5",
        "Friday",
        "twice a week",
        "20%",
        "5-2",
        "yes",
        "4 -> 5",
        "a, b and c",
        NOT_STATED,
        "",
    ]
)
HISTORY = (
    "{gold} (was {old})",
    "{gold}, previously {old}",
    "{gold} now, up from {old}",
    "It used to be {old}, now {gold}.",
    "It changed from {old} to {gold}.",
    "{gold}, not {old}",
    "{gold} instead of {old}",
    "Not {old} but {gold}.",
    "{gold}; earlier it was {old}",
    "{old} -> {gold}",
)
HEDGES = (
    "{old} or {gold}",
    "{gold} or {old}",
    "either {gold} or {old}",
    "{old}, {gold}",
    "{gold} / {old}",
    "Answer: {gold}\nAnswer: {old}",
)


def judged(answer: str, question: Question) -> Verdict:
    return verdict(answer, question.gold, question.stale, question.others, question.text, question.value_type)


@given(questions)
@settings(max_examples=200, deadline=None)
def test_a_gold_passes_its_own_spec(question: Question) -> None:
    right = Verdict.ABSTAIN if question.kind == "abstain" else Verdict.CURRENT
    for answer in (
        question.gold,
        question.gold.upper(),
        f" {question.gold}. ",
        f"**{question.gold}**",
        f"Answer: {question.gold}",
        expert_answer(question),
    ):
        assert judged(answer, question) == right, answer


@given(questions)
@settings(max_examples=200, deadline=None)
def test_no_other_value_of_the_type_passes(question: Question) -> None:
    for value in (*question.stale, *question.others, "unknown" if question.kind != "abstain" else "42"):
        assert judged(value, question) not in (Verdict.CURRENT, Verdict.ABSTAIN if question.kind == "abstain" else None), value


@given(plain_questions, st.sampled_from(HISTORY))
@settings(max_examples=300, deadline=None)
def test_history_beside_a_current_answer_changes_nothing(question: Question, form: str) -> None:
    assert judged(form.format(gold=question.gold, old=question.stale[0]), question) == Verdict.CURRENT


@given(plain_questions, st.sampled_from(HEDGES))
@settings(max_examples=300, deadline=None)
def test_both_values_without_a_choice_are_a_hedge(question: Question, form: str) -> None:
    assert judged(form.format(gold=question.gold, old=question.stale[0]), question) == Verdict.HEDGED


@given(plain_questions)
@settings(max_examples=200, deadline=None)
def test_a_denied_gold_never_passes(question: Question) -> None:
    for form in (
        "not {gold}",
        "It is {old}, not {gold}.",
        "It is no longer {gold}.",
        "{old} instead of {gold}",
        "It was {gold}, now {old}.",
    ):
        assert judged(form.format(gold=question.gold, old=question.stale[0]), question) != Verdict.CURRENT, form


@given(st.integers(0, 10**6), st.integers(0, 10**6))
@settings(deadline=None)
def test_numbers_are_equal_only_to_themselves(a: int, b: int) -> None:
    assert (verdict(f"You have {b:,} of them.", str(a)) == Verdict.CURRENT) == (a == b)
    assert mentions(f"plants: {b}; rent $9", str(a), value_type="integer") == (a == b)


@given(st.integers(0, 1439), st.integers(0, 1439))
@settings(deadline=None)
def test_clock_times_in_both_notations(a: int, b: int) -> None:
    gold = f"{(a // 60 - 1) % 12 + 1}:{a % 60:02d} {'am' if a < 720 else 'pm'}"
    answer = f"At {b // 60:02d}:{b % 60:02d}."
    # "07:30" may be meant on a twelve-hour clock.
    equal = a == b or (60 <= b < 780 and a % 720 == b % 720)
    if a == b:
        assert verdict(answer, gold) == Verdict.CURRENT
    elif not equal:
        assert verdict(answer, gold) != Verdict.CURRENT


@given(st.text(max_size=400), golds, st.sampled_from([None, "How many gyms do I have now?", "Which gym was it before?"]))
@settings(max_examples=500, deadline=None)
def test_never_raises(answer: str, gold: str, question: str | None) -> None:
    assert verdict(answer, gold, [answer[:20]], [answer[5:30], ""], question) in Verdict
    assert verdict(gold, answer, [gold], [], question) in Verdict
    assert mentions(answer, gold, question) in (True, False)


@given(
    st.lists(
        st.sampled_from(
            'not unknown either or Answer: ** ( ) [ { " , . 5 7:30 $ to from now was every a half and - / \\boxed{ \n Temple Iron'.split(
                " "
            )
        ),
        max_size=60,
    ),
    golds,
)
@settings(max_examples=500, deadline=None)
def test_never_raises_on_its_own_vocabulary(words: list[str], gold: str) -> None:
    assert verdict(" ".join(words), gold, ["8", "Gold's Gym"]) in Verdict
    assert verdict("".join(words), gold, ["8", "Gold's Gym"]) in Verdict


HOSTILE = [
    "-",
    "9,",
    "(",
    "*",
    "`",
    "[",
    "{",
    "\n",
    "9",
    "1 ",
    "one ",
    "not ",
    "answer: ",
    "\\boxed{",
    "<think>",
    "<answer>",
    "no information about any ",
    "a",
    "5:",
    "\u200b",
    "from 4 to 5 ",
    'the answer to the question "',
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("gold", ["Iron Temple", "5", NOT_STATED, "4 -> 5", "yes"])
def test_time_is_linear_on_hostile_text(unit: str, gold: str) -> None:
    text = unit * (200_000 // len(unit))
    start = time.process_time()
    verdict(text, gold, ["Gold's Gym", "7"], ["Big Barn"], "How many gyms do I have?")
    assert time.process_time() - start < 2.0
