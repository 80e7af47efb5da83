"""Generated episodes: determinism, splits, gold answers recomputed, stale values, ideal notes, sizes."""

import hashlib
import subprocess
import sys
from itertools import islice

import pytest

from supersession.answers import Verdict, verdict
from supersession.episode import NOT_STATED, Episode, lasting_values, resolve
from supersession.sources.generator import LEVELS, SPLITS, episodes, expert_answer, generate
from supersession.sources.generator.values import NUMBER_WORDS

COUNTS = {0: 600, 1: 600, 2: 600, 3: 300, 4: 200, 5: 150, 6: 100}


def _text(episode: Episode) -> str:
    return "\n".join(turn.content for session in episode.sessions for turn in session.turns)


def _batches():
    for level, count in COUNTS.items():
        for split in ("train", "ood"):
            yield pytest.param(list(episodes(split, 11, level, count, questions=3)), id=f"{split}-{level}")


BATCHES = list(_batches())
each_batch = pytest.mark.parametrize("batch", BATCHES)


def test_an_episode_is_a_pure_function_of_its_arguments():
    late = generate("dev", 3, 40, level=4)
    assert late == list(islice(episodes("dev", 3, level=4, start=35), 10))[5]
    assert late != generate("dev", 4, 39, level=4).model_copy(update={"id": late.id, "meta": late.meta})


def test_another_process_makes_the_same_episodes():
    script = (
        "import hashlib; from supersession.sources.generator import generate;"
        "made = [generate(split, 5, 7, level=level) for split in ('train', 'test', 'ood') for level in range(7)];"
        "print(hashlib.sha256(''.join(episode.model_dump_json() for episode in made).encode()).hexdigest())"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "123"})
    here = "".join(generate(split, 5, 7, level=level).model_dump_json() for split in ("train", "test", "ood") for level in range(7))
    assert done.stdout.strip() == hashlib.sha256(here.encode()).hexdigest()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("validation", 0, 0), "split 'validation' is unknown; choose one of train, dev, test, ood"),
        (("train", 0, 0, 7), "level 7 is unknown; choose one of 0, 1, 2, 3, 4, 5, 6"),
        (("train", 0, 0, 2, 0), "questions must be at least 1, got 0"),
        (("train", 0, 0, 2, 1, 0), "budget must be at least 1, got 0"),
    ],
)
def test_bad_arguments_are_named(arguments, says):
    with pytest.raises(ValueError, match=says):
        generate(*arguments)


@each_batch
def test_gold_answers_are_recomputed_from_the_timeline(batch):
    for episode in batch:
        for question in episode.questions:
            assert resolve(episode, question) == question.gold


@each_batch
def test_episodes_are_valid_and_move_forward_in_time(batch):
    for episode in batch:
        assert Episode.model_validate(episode.model_dump()) == episode
        dates = [session.date for session in episode.sessions]
        assert dates == sorted(set(dates))
        assert all(question.date > dates[-1] for question in episode.questions)
        assert len({session.date.date() for session in episode.sessions}) == len(dates)


@each_batch
def test_values_of_the_timeline_stand_in_the_turn_that_tells_them(batch):
    """A value that is taken over from another fact is not said again: it stands in an earlier turn, in digits or summed up from them."""
    elsewhere = 0
    for episode in batch:
        for place, event in enumerate(episode.timeline):
            if event.value is None or event.value in ("yes", "no") or event.kind == "increment":
                continue
            told = episode.sessions[event.session].turns[event.turn].content.lower()
            if event.value.lower() in told or (event.value.isdigit() and NUMBER_WORDS[int(event.value) % 13] in told):
                continue
            assert event.kind == "update"
            before = episode.model_copy(update={"timeline": episode.timeline[:place]})
            rivals = {e.key for e in before.timeline if e.key != event.key and e.key.attribute == event.key.attribute}
            assert any(lasting_values(before, key)[-1] == event.value for key in rivals)
            elsewhere += 1
    assert elsewhere < len(batch)


@each_batch
def test_the_scorer_accepts_the_gold_and_rejects_every_other_value(batch):
    for episode in batch:
        for question in episode.questions:
            known = (question.gold, question.stale, question.others, question.text, question.value_type)
            wanted = Verdict.ABSTAIN if question.kind == "abstain" else Verdict.CURRENT
            assert verdict(question.gold, *known) == wanted, question
            assert verdict(expert_answer(question), *known) == wanted, question
            for value in (*question.stale, *question.others):
                assert verdict(value, *known) not in (Verdict.CURRENT, Verdict.ABSTAIN), (value, question)


@each_batch
def test_ideal_notes_hold_what_the_questions_need(batch):
    for episode in batch:
        budget = 160 if episode.meta["level"] <= 2 else 300
        assert all(0 < len(notes) <= budget for notes in episode.expert_notes)
        for question in episode.questions:
            if question.gold != NOT_STATED and question.kind != "direction":
                assert all(part in episode.expert_notes[-1] for part in question.gold.split(" -> "))


@each_batch
def test_questions_of_an_episode_differ_and_hide_their_gold(batch):
    for episode in batch:
        assert len({question.text for question in episode.questions}) == len(episode.questions)
        for question in episode.questions:
            assert question.gold not in (*question.stale, *question.others)
            if question.value_type in ("name", "money", "weekday", "frequency", "time"):
                assert question.gold not in question.text


@pytest.mark.parametrize("budget", [1, 40, 80, 120])
def test_ideal_notes_stay_within_a_small_budget(budget):
    for episode in episodes("train", 2, level=5, count=20, budget=budget):
        assert max(map(len, episode.expert_notes)) <= budget


def test_train_dev_and_test_share_no_change_of_a_fact():
    def changes(split: str) -> set[object]:
        return {tuple(sorted(str(event.model_dump()) for event in episode.timeline)) for episode in episodes(split, 0, 0, 1500)}

    train, dev, test = changes("train"), changes("dev"), changes("test")
    assert not train & dev
    assert not train & test
    assert not dev & test


def test_ood_shares_no_open_value_and_no_name_with_the_other_splits():
    def words(split: str) -> set[str]:
        found = set()
        for level in (1, 3):
            for episode in episodes(split, 0, level, 400):
                found |= (
                    {e.key.subject for e in episode.timeline}
                    | {e.key.attribute for e in episode.timeline}
                    | {e.key.scope for e in episode.timeline}
                )
                found |= {e.value for e in episode.timeline if e.value and e.kind != "increment"}
        return found - {"user", "", "yes", "no", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}

    assert not words("train") & words("ood")


def test_every_level_is_longer_than_the_one_before():
    lengths = [sum(len(_text(episode)) for episode in episodes("train", 0, level, 60)) for level in LEVELS]
    assert lengths == sorted(lengths)


def test_low_levels_are_short():
    for level, most in ((0, 100), (1, 145), (2, 240)):
        sizes = sorted(len(_text(episode)) / len(episode.sessions) for episode in episodes("train", 1, level, 300))
        assert sizes[150] <= LEVELS[level].chars[1]
        assert sizes[-1] <= most


def test_every_kind_of_question_is_asked():
    for level in range(3, 7):
        kinds = {question.kind for episode in episodes("train", 3, level, 150) for question in episode.questions}
        assert kinds == set(LEVELS[level].kinds)


def test_splits_are_the_documented_ones():
    assert SPLITS == ("train", "dev", "test", "ood")


def test_long_chains_find_an_attribute_with_enough_values():
    knobs = LEVELS[3].model_copy(update={"sessions": (14, 14), "changes": (12, 13), "kinds": {"current": 1.0, "scoped": 1.0}})
    assert len(list(episodes("train", 0, 3, 60, knobs=knobs))) == 60


def test_sessions_can_be_as_long_as_a_benchmark_s():
    knobs = LEVELS[3].model_copy(update={"chars": (12_000, 13_000)})
    episode = generate("train", 0, 0, knobs=knobs)
    assert all(10_000 < sum(len(turn.content) for turn in session.turns) < 14_000 for session in episode.sessions)
