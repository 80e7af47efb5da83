"""Shortcuts that are learned: linear classifiers over bags of words, trained on thousands of episodes, that track no fact either."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier

from curricula.shortcuts import Case, Mention

_TOKEN = re.compile(r"[a-z']+")


class BagOfWords:
    """Ranks the candidates of a question by the words of the sentences that mention them: all of them, and apart the last ones."""

    def __init__(self, training: Sequence[Case], seed: int) -> None:
        rows = [(words, value == case.question.gold) for case in training for value, words in _bags(case).items()]
        self._vectorizer = CountVectorizer(analyzer=list, min_df=3)
        self._model = SGDClassifier(loss="log_loss", alpha=1e-4, average=True, random_state=seed)
        self._model.fit(self._vectorizer.fit_transform(words for words, _ in rows), [right for _, right in rows])

    def __call__(self, case: Case) -> str:
        bags = _bags(case)
        if not bags:
            return ""
        scores = self._model.decision_function(self._vectorizer.transform(bags.values()))
        return max(zip(scores, bags, strict=True))[1]


class QuestionOnly:
    """Ranks the candidates by how often a question in such words had such an answer."""

    def __init__(self, training: Sequence[Case], seed: int) -> None:
        self._vectorizer = HashingVectorizer(n_features=2**16, ngram_range=(1, 2))
        self._model: Any = LogisticRegression(max_iter=50, random_state=seed)
        texts = [f"{case.question.text} = {value}" for case in training for value in case.candidates]
        right = [value == case.question.gold for case in training for value in case.candidates]
        self._model.fit(self._features(texts), right)

    def _features(self, texts: Iterable[str]) -> Any:
        return self._vectorizer.transform(texts)

    def __call__(self, case: Case) -> str:
        scores = self._model.decision_function(self._features(f"{case.question.text} = {value}" for value in case.candidates))
        return max(zip(scores, case.candidates, strict=True))[1]


def _bags(case: Case) -> dict[str, list[str]]:
    """Return the words around each mentioned candidate; those of its last mention appear once more with a mark."""
    around: dict[str, list[Mention]] = defaultdict(list)
    for mention in case.mentions:
        around[mention.value].append(mention)
    bags = {}
    for value, mentions in around.items():
        words = [word for mention in mentions for word in [mention.role, *_words(mention, value)]]
        bags[value] = [*words, *(f"last {word}" for word in _words(mentions[-1], value)), f"{min(len(mentions), 4)} mentions"]
    return bags


def _words(mention: Mention, value: str) -> list[str]:
    return _TOKEN.findall(mention.sentence.lower().replace(value.lower(), " "))
