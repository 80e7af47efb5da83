"""Curricula: every file of ours loads and makes what it says, and nonsense is refused in one sentence."""

import pytest

from curricula.files import names, open_curriculum
from supersession.episode import EpisodeError, resolve
from supersession.sources.curriculum import load_curriculum


@pytest.mark.parametrize("name", names())
def test_every_stage_of_our_curricula_makes_episodes(name):
    curriculum = open_curriculum(name)
    for place, stage in enumerate(curriculum.stages):
        made = [curriculum.episode(place, "train", 3, index, 300) for index in range(20)]
        assert {episode.meta["level"] for episode in made if episode.meta["stage"] == stage.name} <= set(stage.levels)
        for episode in made:
            assert all(resolve(episode, question) == question.gold for question in episode.questions)
        assert made == [curriculum.episode(place, "train", 3, index, 300) for index in range(20)]


def test_passed_stages_are_rehearsed():
    curriculum = open_curriculum("buried-update")
    stages = [curriculum.episode(4, "dev", 0, index, 300).meta["stage"] for index in range(200)]
    passed = {stage.name for stage in curriculum.stages[:4]}
    assert 5 < sum(stage in passed for stage in stages) < 45


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("stages = []", "stages: Tuple should have at least 1 item"),
        ('[[stages]]\nname = "a"\nlevels = {9 = 1.0}', "stages.0: level 9 is unknown; choose from 0, 1"),
        ('[[stages]]\nname = "a"\nlevels = {0 = 0.0}', "the weights of levels must be 0 or more and not all 0"),
        ('[[stages]]\nname = "a"\nlevels = {0 = 1.0}\nknobs = {sessions = [5, 2]}', "sessions must be a range"),
        ('[[stages]]\nname = "a"\nlevels = {0 = 1.0}\nknobs = {session = 3}', "session"),
        ('[[stages]]\nname = "a"\nlevels = {0 = 1.0}\n[[stages]]\nname = "a"\nlevels = {1 = 1.0}', "two stages have the name 'a'"),
        ('promote = 0.2\ndemote = 0.4\n[[stages]]\nname = "a"\nlevels = {0 = 1.0}', r"demote \(0.4\) must be below promote \(0.2\)"),
        ("stages = [", "is not valid TOML"),
    ],
)
def test_nonsense_is_refused_with_its_place(tmp_path, text, says):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(EpisodeError, match=says):
        load_curriculum(path)
    with pytest.raises(EpisodeError, match="cannot read the curriculum"):
        load_curriculum(tmp_path / "absent.toml")
