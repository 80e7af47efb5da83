"""The generator's words: every attribute of both worlds can be told, changed and asked about; the worlds share no phrasing."""

import pytest

from supersession.sources.generator import Knobs
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
    ],
)
def test_knobs_refuse_nonsense(knobs, says):
    with pytest.raises(ValueError, match=says):
        Knobs(**{"sessions": (2, 3), "chars": (60, 90), "facts": (1, 2), **knobs})
