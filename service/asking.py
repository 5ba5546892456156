"""Putting a run's questions to the person at the terminal. What they answer is recorded by the one door for answers."""

from __future__ import annotations

from nodes.shapes import Answer
from service.terminal import Screen
from service.use_cases import UseCases
from service.wording import plain
from state.digest import Json
from state.errors import Denied, RemitError

_CHOICES = ("approve", "reject", "edit", "later")


def ask_all(cases: UseCases, screen: Screen, asked: list[Json]) -> bool:
    """Put each question; True if all were answered, so that the run can go on."""
    return all([_ask(cases, screen, each) for each in asked])


def _ask(cases: UseCases, screen: Screen, asked: Json) -> bool:
    screen.approval(asked)
    while True:
        try:
            answer = _answer(screen, asked)
        except (EOFError, KeyboardInterrupt):
            screen.line("")
            answer = None
        if answer is None:
            screen.line("Nothing was decided; the question stays open.")
            return False
        try:
            cases.decide(answer)
            return True
        except Denied as error:
            screen.error(str(error))
            return False
        except RemitError as error:
            screen.error(str(error))
            if cases.approval(asked["id"]).status != "pending":
                return True  # somebody else was faster, or it expired: the run goes on with what is true now


def _answer(screen: Screen, asked: Json) -> Answer | None:
    """The person's answer to exactly what was shown, or None for later."""
    choice = ""
    while choice not in _CHOICES:
        given = screen.ask("Approve, reject, edit or later? ").lower()
        choice = next((each for each in _CHOICES if given and each.startswith(given)), "")
    if choice == "later":
        return None
    if choice == "edit":
        return Answer(asked["id"], "edit", asked["digest"], arguments=_edited(screen, asked["arguments"]))
    message = screen.ask("Why? (may be left empty) ") if choice == "reject" else ""
    return Answer(asked["id"], "reject" if choice == "reject" else "approve", asked["digest"], message)


def _edited(screen: Screen, arguments: Json) -> Json:
    """Each argument anew; an empty line keeps what was shown."""
    screen.line("An edit is checked like any proposal and asked again. Empty keeps the value.")
    edited: Json = {}
    for name, value in arguments.items():
        given = screen.ask(f"  {plain(name)} [{plain(value)}]: ")
        edited[name] = given or value
    return edited
