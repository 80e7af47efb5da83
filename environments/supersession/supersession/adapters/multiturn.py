"""verifiers 0.3 (v0 API): a MultiTurnEnv whose every turn is a fresh prompt of the notes and one new session, or one question.

It binds and nothing more: `NotesRollout` decides what the model sees, `Scorecard` what it earns.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import verifiers.legacy as vf
from verifiers.legacy.utils.message_utils import normalize_messages

from supersession.adapters.outcome import outcome
from supersession.engines.generation import token_limit
from supersession.episode import Episode
from supersession.protocol import Condition, NotesRollout

if TYPE_CHECKING:
    from datasets import Dataset


class ScorecardRubric(vf.Rubric):
    """One reward and, with no weight, every metric of the scorecard; T and C are absent from rollouts in which no question has them."""

    def __init__(self, stale_weight: float) -> None:
        super().__init__(funcs=[current_not_stale])
        self.stale_weight = stale_weight

    async def score_rollout(self, state: vf.State) -> None:
        self._measure(state)
        await super().score_rollout(state)
        state["metrics"].update(state["scorecard"])

    async def score_group(self, states: list[vf.State]) -> None:
        for state in states:
            self._measure(state)
        await super().score_group(states)
        for state in states:
            state["metrics"].update(state["scorecard"])

    def _measure(self, state: vf.State) -> None:
        # Outside the reward function, because the library turns an exception in there into a reward of 0.
        metrics = outcome(state["rollout"], self.stale_weight)
        # A metric called "reward" would overwrite the total in the library's output rows.
        state["current_not_stale"] = metrics.pop("reward")
        state["scorecard"] = metrics


async def current_not_stale(state: vf.State) -> float:
    """The scorecard's reward: r_cur + λ·r_stale, mean over the questions."""
    return float(state["current_not_stale"])


class SupersessionMultiTurnEnv(vf.MultiTurnEnv):
    """Lives through `episodes` under the notes protocol; `state["notes_history"]` and `state["answers"]` can be saved as state columns."""

    def __init__(self, episodes: Sequence[Episode], budget: int, condition: Condition, stale_weight: float, **kwargs: Any) -> None:
        if stale_weight < 0:
            raise ValueError(f"stale_weight must be 0 or more, got {stale_weight}")
        self.episodes = episodes
        # An episode is asked for when the prompts are listed and again by every rollout of its group.
        self.episode = functools.lru_cache(maxsize=1024)(episodes.__getitem__)
        self.new_rollout = functools.partial(NotesRollout, budget=budget, condition=condition)
        rows = functools.cache(self._rows)
        super().__init__(dataset=rows, eval_dataset=rows, rubric=ScorecardRubric(stale_weight), **kwargs)

    def _rows(self) -> Dataset:
        from datasets import Dataset

        # A row only points at its episode: env-server processes open the same source, so no episode travels between processes.
        return Dataset.from_list(
            [
                {
                    "prompt": self.new_rollout(episode).prompt().messages,
                    "answer": "\n".join(question.gold for question in episode.questions),
                    "info": {"index": index, "episode": episode.id},
                }
                for index, episode in enumerate(map(self.episode, range(len(self.episodes))))
            ]
        )

    async def setup_state(self, state: vf.State) -> vf.State:
        rollout = self.new_rollout(self.episode(state["info"]["index"]))
        state.update(rollout=rollout, notes_history=rollout.notes_history, answers=rollout.answers)
        return state

    async def get_prompt_messages(self, state: vf.State) -> vf.Messages:
        segment = state["segment"] = state["rollout"].prompt()
        return normalize_messages(segment.messages, field_name="prompt")

    async def env_response(self, messages: vf.Messages, state: vf.State, **kwargs: Any) -> vf.Messages:
        """Return the next prompt whole; the library never asks, since nothing is appended to a conversation here."""
        return await self.get_prompt_messages(state)

    async def get_model_response(
        self,
        state: vf.State,
        prompt: vf.Messages,
        client: vf.Client[Any, Any, Any, Any] | None = None,
        model: str | None = None,
        tool_defs: list[vf.Tool] | None = None,
        sampling_args: vf.SamplingArgs | None = None,
    ) -> vf.Response:
        """Ask with this turn's token limit, unless the user set one. An empty reply is a reply here, where the library sees a failure."""
        given = {key: value for key, value in (sampling_args or state["sampling_args"] or {}).items() if value is not None}
        if not given.keys() & {"max_tokens", "max_completion_tokens"}:
            given["max_tokens"] = token_limit(state["segment"], state["rollout"].budget)
        try:
            return await super().get_model_response(state, prompt, client, model, tool_defs, given)
        except vf.EmptyModelResponseError:
            message = vf.ResponseMessage(content="", finish_reason="stop", is_truncated=False)
            return vf.Response(id="empty", created=int(time.time()), model=state["model"], message=message)

    async def add_trajectory_step(self, state: vf.State, trajectory_step: vf.TrajectoryStep) -> None:
        await super().add_trajectory_step(state, trajectory_step)
        texts = [message.content for message in trajectory_step["completion"]]
        state["rollout"].step("".join(text for text in texts if isinstance(text, str)))

    async def render_completion(self, state: vf.State) -> None:
        """Show the whole life: every step's prompt and completion, less the first prompt, which stands in its own column."""
        steps = state["trajectory"]
        lived = [message for step in steps for message in [*step["prompt"], *step["completion"]]]
        state["completion"] = lived[len(steps[0]["prompt"]) :] if steps else []

    @vf.stop
    async def episode_over(self, state: vf.State) -> bool:
        rollout: NotesRollout = state["rollout"]
        return rollout.done
