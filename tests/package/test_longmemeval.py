"""LongMemEval's file format read into episodes; the items here are made up."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from supersession.episode import NOT_STATED, EpisodeError, format_date
from supersession.sources.longmemeval import infer_kind, labels, load_longmemeval


def item(name: str = "q1", **changes: Any) -> dict[str, Any]:
    made = {
        "question_id": name,
        "question_type": "knowledge-update",
        "question": "How many plants do I have?",
        "answer": "five",
        "question_date": "2023/06/01 (Thu) 00:58",
        "haystack_dates": ["2023/05/25 (Thu) 20:21", "2023/05/27 (Sat) 10:20"],
        "haystack_session_ids": [f"answer_{name}_1", f"answer_{name}_2"],
        "haystack_sessions": [
            [{"role": "user", "content": "I have three plants.", "has_answer": True}, {"role": "assistant", "content": "Nice."}],
            [{"role": "user", "content": "I have five plants now.", "has_answer": True}, {"role": "assistant", "content": "Good."}],
        ],
        "answer_session_ids": [f"answer_{name}_1", f"answer_{name}_2"],
    }
    return made | changes


def write(folder: Path, items: Any, name: str = "lme.json") -> Path:
    path = folder / name
    text = items if isinstance(items, str) else json.dumps(items)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["lme.json", "lme.json.gz"])
def test_an_item_becomes_an_episode(tmp_path: Path, name: str) -> None:
    (episode,) = load_longmemeval(write(tmp_path, [item()], name))
    assert episode.id == "q1"
    assert [session.turns[0].content for session in episode.sessions] == ["I have three plants.", "I have five plants now."]
    question = episode.questions[0]
    assert (question.id, question.text, question.kind, question.gold, question.stale) == (
        "q1",
        "How many plants do I have?",
        "current",
        "five",
        (),
    )
    assert format_date(question.date) == "2023/06/01 (Thu) 00:58"
    assert episode.meta["answer_sessions"] == [0, 1]
    assert episode.meta["answer_turns"] == [[0, 0], [1, 0]]


def test_sessions_are_sorted_by_date_and_stay_in_order_on_the_same_date(tmp_path: Path) -> None:
    dates = ["2023/05/27 (Sat) 10:20", "2023/05/25 (Thu) 20:21", "2023/05/25 (Thu) 20:21"]
    sessions = [[{"role": "user", "content": text, "has_answer": text == "b"}] for text in "cab"]
    raw = item(haystack_dates=dates, haystack_sessions=sessions, haystack_session_ids=["s3", "s1", "answer_q1_1"])
    (episode,) = load_longmemeval(write(tmp_path, [raw]))
    assert [session.turns[0].content for session in episode.sessions] == ["a", "b", "c"]
    assert episode.meta["answer_sessions"] == [1]
    assert episode.meta["answer_turns"] == [[1, 0]]


def test_an_integer_answer_is_text(tmp_path: Path) -> None:
    assert load_longmemeval(write(tmp_path, [item(answer=120)]))[0].questions[0].gold == "120"


def test_an_abstention_is_wanted_where_the_id_says_so(tmp_path: Path) -> None:
    question = load_longmemeval(write(tmp_path, [item("q1_abs", answer="The information provided is not enough.")]))[0].questions[0]
    assert (question.kind, question.value_type, question.gold) == ("abstain", "abstain", NOT_STATED)


def test_reviewed_items_get_kind_gold_and_stale_values(tmp_path: Path) -> None:
    names = ["852ce960", "50635ada", "031748ae", "6071bd76", "69fee5aa"]
    episodes = load_longmemeval(write(tmp_path, [item(name, answer="as written") for name in names]))
    found = {e.id: (e.questions[0].kind, e.questions[0].gold, e.questions[0].stale, e.questions[0].value_type) for e in episodes}
    assert found == {
        "852ce960": ("current", "as written", ("$350,000",), "auto"),
        "50635ada": ("previous", "as written", ("Premier Gold",), "auto"),
        "031748ae": ("both", "4 -> 5", (), "both"),
        "6071bd76": ("direction", "decrease", ("increase",), "direction"),
        "69fee5aa": ("count", "as written", ("37",), "auto"),
    }


def test_the_reviewed_table_is_whole() -> None:
    for name, label in labels().items():
        assert (label.kind == "abstain") == name.endswith("_abs")
        assert label.current or label.previous or label.kind == "abstain", name
        assert label.current not in label.previous, name
        assert label.kind != "direction" or label.current in ("increase", "decrease"), name


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many plants do I have?", "current"),
        ("What was my previous job?", "previous"),
        ("Where did I initially keep my bike?", "previous"),
        ("What did I use for notes before I bought the tablet?", "previous"),
        ("Where does Ana, a friend from my previous school, work?", "current"),
        ("How many people did I lead when I just started, and how many do I lead now?", "both"),
        ("Did I increase or decrease my step goal?", "direction"),
        ("Do I run more often than in spring, or less?", "direction"),
    ],
)
def test_the_kind_of_an_unlisted_item_follows_its_wording(question: str, kind: str) -> None:
    assert infer_kind("unlisted", question) == kind
    assert infer_kind("unlisted_abs", question) == "abstain"


@pytest.mark.parametrize(
    ("answer", "gold"), [("You increased it.", "increase"), ("Less often", "decrease"), ("More or less the same", "More or less the same")]
)
def test_a_direction_is_read_from_the_answer(tmp_path: Path, answer: str, gold: str) -> None:
    raw = item(question="Do I run more often than in spring, or less?", answer=answer)
    assert load_longmemeval(write(tmp_path, [raw]))[0].questions[0].gold == gold


def test_only_knowledge_updates_unless_asked(tmp_path: Path) -> None:
    path = write(tmp_path, [item("a", question_type="multi-session"), item("b")])
    assert [episode.id for episode in load_longmemeval(path)] == ["b"]
    assert [episode.id for episode in load_longmemeval(path, question_type=None)] == ["a", "b"]
    with pytest.raises(EpisodeError, match="holds no items of type 'temporal-reasoning'"):
        load_longmemeval(path, question_type="temporal-reasoning")


def test_turns_and_distractor_sessions_without_text_are_left_out(tmp_path: Path) -> None:
    raw = item()
    raw["haystack_dates"] = ["2023/05/20 (Sat) 08:00", *raw["haystack_dates"]]
    raw["haystack_session_ids"] = ["distractor", *raw["haystack_session_ids"]]
    raw["haystack_sessions"] = [[], *raw["haystack_sessions"]]
    raw["haystack_sessions"][1].insert(0, {"role": "user", "content": " \n"})
    (episode,) = load_longmemeval(write(tmp_path, [raw]))
    assert [len(session.turns) for session in episode.sessions] == [2, 2]
    assert episode.meta["answer_turns"] == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("   \n", "is empty"),
        ('[{"question_id": "q1", "quest', r"not valid JSON .*is the file truncated\?"),
        ('{"question_id": "q1"}', "holds a JSON dict, not the list"),
        ("[]", "holds no items of type 'knowledge-update'"),
        (json.dumps(["text"]), "item 0"),
        (json.dumps([item("a"), item("b", answer=None)]), r"item 1 \(b\), field answer"),
        (json.dumps([{k: v for k, v in item().items() if k != "question"}]), r"item 0 \(q1\), field question: Field required"),
        (json.dumps([item(question_date="yesterday")]), r"item 0 \(q1\), field question_date: date 'yesterday' is neither"),
        (json.dumps([item(haystack_dates=["2023/05/25 (Thu) 20:21", "soon"])]), r"field haystack_dates\.1: date 'soon'"),
        (json.dumps([item(haystack_dates=["2023/05/25 (Thu) 20:21"])]), "must be equally long"),
        (json.dumps([item(haystack_sessions=[[{"role": "bot", "content": "x"}], []])]), r"field haystack_sessions\.0\.0\.role"),
        (
            json.dumps([item(haystack_sessions=[[{"role": "user", "content": "x"}], []])]),
            r"field haystack_sessions\.1: an answer session without text",
        ),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, content: str, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(EpisodeError, match=message) as caught:
        load_longmemeval(path)
    assert str(path) in str(caught.value)


def test_a_truncated_gzip_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [item(str(i)) for i in range(50)], "lme.json.gz")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(EpisodeError, match="cannot read"):
        load_longmemeval(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EpisodeError, match=r"cannot read .*No such file"):
        load_longmemeval(tmp_path / "absent.json")


def test_without_a_path_and_a_hub_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EpisodeError, match=r"longmemeval_oracle\.json of xiaowu0162/longmemeval-cleaned .* give its path"):
        load_longmemeval()
