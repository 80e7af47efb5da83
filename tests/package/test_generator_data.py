"""The generator's words: every attribute of both worlds can be told, changed and asked about; the worlds share no phrasing."""

import pytest

from supersession.sources.generator import LEVELS, Knobs, episodes
from supersession.sources.generator.grammar import compile_template
from supersession.sources.generator.lexicon import world

WORLDS = [world("main"), world("ood")]
ATTRIBUTES = [pytest.param(attribute, id=attribute.name) for words in WORLDS for attribute in words.attributes]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_every_attribute_says_whose_it_is(attribute):
    forms = ("yes", "no", "to_yes", "to_no", "ask") if attribute.type == "yesno" else ("assert", "update", "ask", "past")
    for form in forms:
        assert attribute.forms(form), form
        for template in attribute.forms(form):
            assert "{scope}" in template.voices["I"] if attribute.scopes else "{name}" in template.voices["she"], template
    if attribute.type != "yesno":
        assert attribute.noun.voices["I"]
        assert attribute.ing.voices["I"]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_every_attribute_has_values_to_change_between(attribute):
    assert len(set(attribute.values)) == len(attribute.values) >= (2 if attribute.type == "yesno" else 4)


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_statements_name_their_value(attribute):
    for form in ("assert", "update", "implicit", "once"):
        for template in attribute.forms(form):
            assert "{v}" in template.voices["I"], template
    for form in ("ask", "past"):
        for template in attribute.forms(form):
            assert "{v}" not in template.voices["I"], template
            assert "{old}" not in template.voices["I"], template


def test_worlds_are_of_the_promised_size():
    main = WORLDS[0]
    assert len(main.attributes) >= 60
    assert len({attribute.domain for attribute in main.attributes}) >= 12
    assert len({attribute.name for attribute in main.attributes}) == len(main.attributes)


def test_worlds_share_no_phrasing():
    def phrasings(words):
        forms = {template.voices["I"] for forms in words.frames.values() for template in forms}
        forms |= {template.voices["I"] for a in words.attributes for forms in a.phrasings.values() for template in forms}
        return forms | {line for lines in (*words.questions.values(), *words.words.values()) for line in lines}

    assert not phrasings(WORLDS[0]) & phrasings(WORLDS[1])


def test_templates_agree_with_their_subject():
    template = compile_template("{I} [am/is] proud of {his} dog")
    assert template.render("I") == "I am proud of my dog"
    assert template.render("you") == "you are proud of your dog"
    assert template.render("she", name="Mia") == "Mia is proud of her dog"


CONFLICT = {"same-slot-conflict": 1.0}
MILD = {"owner": {"person": 1.0, "scope": 1.0}, "marker": {"none": 1.0}, "authority": {"none": 1.0}}


@pytest.mark.parametrize(
    ("knobs", "says"),
    [
        ({"sessions": (3, 2)}, "sessions must be a range"),
        ({"implicit": 1.5}, "implicit is a share"),
        ({"changes": (1, 4)}, "4 changes need at least 5 sessions, got 2"),
        ({"chars": (10, 50)}, "at least 60"),
        ({"noise": (1, 2)}, "noise needs noise_kinds"),
        ({"noise": (1, 1), "noise_kinds": {"rumour": 1.0}}, "noise kind 'rumour' is unknown"),
        ({"kinds": {"current": 0.0}}, "not all 0"),
        ({"load": (0, 9)}, "load goes from L0 to L6, got"),
        ({"marker": {"transient": 1.0}}, "marker 'transient' is about same-slot conflicts"),
        ({"owner": {"source": 1.0}}, "owner 'source' is about same-slot conflicts"),
        ({"relationship": CONFLICT, "authority": {"claimed": 1.0}}, "authority 'claimed' is a wrong source's"),
        ({"relationship": CONFLICT, "owner": {"past": 1.0}}, "a slip of the assistant, which needs a dialogue"),
        ({"twin": 0.5}, "twin is a share of same-slot conflicts"),
        ({"relational": 0.5}, "relational takes over a value of the same attribute"),
        ({"position": {}}, "position needs at least one weight, such as position = { any = 1.0 }"),
    ],
)
def test_knobs_refuse_nonsense(knobs, says):
    with pytest.raises(ValueError, match=says):
        Knobs(**{"sessions": (2, 3), "chars": (60, 90), "load": (0, 1), **knobs})


def _made(**knobs):
    return list(episodes("train", 5, 4, 80, knobs=Knobs.model_validate({**LEVELS[4].model_dump(), **knobs})))


def test_load_and_relationship_say_what_else_is_told():
    told = {"noise": (0, 0), "ask_other": 0.0, "relational": 0.0, "twin": 0.0, "kinds": {"current": 1.0}, "notes": 2000}
    alone = _made(load=(0, 0), **told)
    assert all(len({event.key for event in episode.timeline}) == 1 for episode in alone)
    for episode in _made(load=(4, 4), relationship={"matched-neutral": 1.0}, **MILD, **told):
        asked = episode.questions[0].key
        assert not any(event.key.attribute == asked.attribute and event.key != asked for event in episode.timeline)
    attribute_pairs = _made(load=(3, 3), relationship=CONFLICT, **MILD, **told)
    assert all(len({event.key.attribute for event in episode.timeline}) == 1 for episode in attribute_pairs)
    for episode in _made(load=(3, 3), relationship={"repeated-history": 1.0}, **MILD, **told):
        assert {event.kind for event in episode.timeline} <= {"assert", "update", "increment", "correct", "repeat"}


@pytest.mark.parametrize(
    ("knobs", "kind"),
    [
        ({"owner": {"source": 1.0}, "marker": {"none": 1.0}, "authority": {"claimed": 1.0}}, "invalid"),
        ({"owner": {"past": 1.0}, "marker": {"none": 1.0}}, "repeat|invalid"),
        ({"owner": {"person": 1.0}, "marker": {"superseded": 1.0}}, "repeat"),
    ],
)
def test_owner_marker_and_position_place_a_rival_value(knobs, kind):
    plain = {
        "noise": (0, 0),
        "relational": 0.0,
        "twin": 0.0,
        "corrections": 0.0,
        "kinds": {"current": 1.0},
        "ask_other": 0.0,
        "load": (1, 1),
    }
    rivals = 0
    for episode in _made(relationship=CONFLICT, position={"after": 1.0}, **{"authority": {"none": 1.0}, **knobs}, **plain):
        lasting = [place for place, event in enumerate(episode.timeline) if event.kind in ("assert", "update", "increment")]
        found = [place for place, event in enumerate(episode.timeline) if event.kind in kind.split("|")]
        assert all(place > lasting[-1] for place in found)
        rivals += len(found)
    assert rivals > 20


def test_drift_twins_and_take_overs_happen_as_often_as_asked():
    outcomes = {form.voices["I"].split("{")[0][:12] for attribute in world("main").attributes for form in attribute.forms("outcome")}
    assert len(outcomes) > 20
    twins = _made(relationship=CONFLICT, twin=1.0, load=(2, 2), relational=0.0, **MILD)
    assert sum(_has_equal_twins(episode) for episode in twins) > 40
    taken = _made(relationship=CONFLICT, relational=1.0, load=(2, 2), twin=0.0, returns=0.0, **MILD)
    assert sum(_values_in_two_keys(episode) for episode in taken) > 15


def _has_equal_twins(episode):
    first = {}
    for event in episode.timeline:
        first.setdefault(event.key, event.value)
    return len(set(first.values())) < len(first)


def _values_in_two_keys(episode):
    return any(
        a.value == b.value and a.key != b.key and a.key.attribute == b.key.attribute and b.kind == "update"
        for a in episode.timeline
        for b in episode.timeline
        if a.value not in ("yes", "no") and a.kind != "increment" and b.kind != "increment"
    )
