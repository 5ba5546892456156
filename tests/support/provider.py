"""A model as deciders see it, which answers as a test says."""

from __future__ import annotations

from nodes.deciders.decider import View
from state.budget import Usage
from tests.support.world import World
from tools.contract import CancelToken


class Provider:
    """A decider whose calls are answered in turn, whichever turn they are for; the last answer again and again."""

    name = "scripted"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)

    def propose(self, view: View, token: CancelToken) -> object:
        del view, token
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def worst_case(self) -> Usage:
        return Usage(model_calls=1, input_tokens=100)


def asks(world: World, *answers: object) -> None:
    """The model answers like this."""
    world.decider = Provider(*answers)
