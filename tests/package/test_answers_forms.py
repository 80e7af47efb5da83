"""Forms that replies of real models take: thoughts, paragraphs, sums, leaving verbs, units after a slash, short yes and no, lists."""

import pytest

from supersession.answers import Verdict, verdict

CURRENT, STALE, HEDGED, ABSTAIN, OTHER = Verdict.CURRENT, Verdict.STALE, Verdict.HEDGED, Verdict.ABSTAIN, Verdict.OTHER


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The first note says 9, a later one 14.</think>\nYou own 14 books.", CURRENT),
        ("<scratchpad>9 + 5 = 14</scratchpad>\n14", CURRENT),
        ("9 + 5 = 14", CURRENT),
        ("It was 9, then went up by 5 to 14.", CURRENT),
        ("14 (updated from 9)", CURRENT),
        ("In spring you said 9. In June you said 14. So the answer is 14.", CURRENT),
        ("You own 14 books.\n\nHow it went:\n- spring: 9 books\n- June: 14 books", CURRENT),
        ("Shelf history:\nspring: 9\nJune: 14\n\nCurrent: 14", CURRENT),
        ("## Answer\n\nYou own **14 books**.\n\n## Reasoning\n\n- You had 9 in spring.\n- You bought 5.", CURRENT),
        ("14 is the current count, 9 is outdated.", CURRENT),
        ("Ignore the 9; it's 14.", CURRENT),
        ("You own 14 books. It was 9 in spring.", CURRENT),
        ('{"answer": "14", "value": "9"}', HEDGED),
        ("at most 14", OTHER),
        ("#### 14", CURRENT),
        ("$14$", CURRENT),
        ("9 or 14", HEDGED),
    ],
)
def test_counts(answer, expected):
    assert verdict(answer, "14", ["9"], question="How many books do I own?", value_type="integer") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("You left Tandem Freight for Quantix.", CURRENT),
        ("You sold out at Tandem Freight, quit Tandem Freight and joined Quantix.", CURRENT),
        ("You moved from Tandem Freight to Quantix.", CURRENT),
        ("Tandem Freight was replaced by Quantix.", CURRENT),
        ("You replaced Tandem Freight with Quantix.", CURRENT),
        ("Tandem Freight before, Quantix now", CURRENT),
        ("You worked at Tandem Freight before and now work at Quantix.", CURRENT),
        ("You recently started at Quantix.", CURRENT),
        ("You left Quantix.", OTHER),
    ],
)
def test_employers(answer, expected):
    assert verdict(answer, "Quantix", ["Tandem Freight"], question="Where do I work now?", value_type="name") == expected


@pytest.mark.parametrize("answer", ["$820/month", "Rent: $820/mo (was $760/mo)", "Your rent went up by $60 to $820."])
def test_a_unit_after_a_slash_is_no_alternative(answer):
    assert verdict(answer, "$820", ["$760"], question="How much is my rent?") == CURRENT


@pytest.mark.parametrize(
    ("answer", "gold", "expected"),
    [
        ("Not anymore.", "no", CURRENT),
        ("You do not.", "no", CURRENT),
        ("You sold your old bike in May.", "no", CURRENT),
        ("No, you don't have it anymore.", "no", CURRENT),
        ("Absolutely!", "yes", CURRENT),
        ("No doubt you still have your old bike.", "no", STALE),
    ],
)
def test_yes_and_no_without_the_word(answer, gold, expected):
    stale = ["yes" if gold == "no" else "no"]
    assert verdict(answer, gold, stale, question="Do I still have my old bike?", value_type="yesno") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Porto before, Ghent now", CURRENT),
        ("You lived in Porto and now live in Ghent.", CURRENT),
        ("Ghent before and Porto now", STALE),
        ("Porto now and Ghent now", HEDGED),
    ],
)
def test_before_and_now_in_their_order(answer, expected):
    assert verdict(answer, "Porto -> Ghent", question="Where did I live before, and where now?", value_type="both") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Monday and Friday (you used to go on Tuesday and Sunday).", CURRENT),
        ("first Tuesday and Sunday, now Monday and Friday", CURRENT),
        ("Monday or Friday", HEDGED),
        ("plum, Monday, cherry, Friday", HEDGED),
    ],
)
def test_lists(answer, expected):
    assert verdict(answer, "Monday, Friday", ["Tuesday, Sunday"], question="Which days do I swim?", value_type="list") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("There is nothing in my notes about it.", ABSTAIN),
        ("That never came up.", ABSTAIN),
        ("We haven't talked about that.", ABSTAIN),
        ('{"answer": null}', ABSTAIN),
        ("I don't have that information.", ABSTAIN),
        ("I'm sorry, but as a chatbot I don't have the ability to look that up.", ABSTAIN),
        ("Biscuit. I don't know exactly since when.", OTHER),
        ("Your sister's dog is Biscuit. Why she chose that name is unknown.", OTHER),
    ],
)
def test_abstentions(answer, expected):
    question = "What is my sister's dog called?"
    assert verdict(answer, "not stated", [], ["Biscuit"], question, "abstain") == expected
