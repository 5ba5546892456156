"""Whatever comes in whichever order: the promises hold at every commit, and no run is ever stuck.

Two processes share a ledger and a business store. Each of their tasks may stop between any two transactions, go on
much later or die; people answer, wish, settle and change their minds; permissions come and go; both clocks move, one of
them backwards too; letters and receipts are lost. A failure prints the shortest schedule that was found for it, and the
line with which it is run again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from state.actor import PERMITTED
from state.errors import NotAllowed
from tests.support.errands import OFFICES, TASKS
from tests.support.malformed import malformed_answers
from tests.support.post import MOODS
from tests.support.schedule import Task
from tests.support.simulation import ASKED_FOR_S, Simulation, decision, template
from tests.support.world import USER

PEOPLE = (USER, "bob", "eve")  # bob may be permitted; eve never is
KINDS = ("ticket", "note", *OFFICES)


process = st.integers(0, 1)
which = st.integers(0, 9)
# How many boundaries a task may pass before it stands still. After an approval the claim comes behind the fifth.
over = st.sampled_from([0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 6, 6, 7, 8, 9, 10, 12, 14, 17, 21, None, None, None, None])
moods = st.lists(st.sampled_from(MOODS), max_size=3)
hides = st.sampled_from([0, 0, 1, 2])
DEADLINE_S = 200  # before a question's time is over
STAGES = ("accepted", "asked", "approved", "approved", "approved")


class AnyInterleaving(RuleBasedStateMachine):
    made: ClassVar[Path]

    def __init__(self) -> None:
        super().__init__()
        self._told = False
        self._folder = tempfile.TemporaryDirectory()
        self.sim = Simulation(self.made, Path(self._folder.name))

    def _run(self, number: int) -> str:
        run = self.sim.runs[number % len(self.sim.runs)]
        note(run)
        return run

    def _task(self, number: int) -> tuple[int, Task]:
        where, task = self.sim.tasks[number % len(self.sim.tasks)]
        note(f"{task.name}, in process {where}")
        return where, task

    def _may_start(self) -> bool:
        return len(self.sim.runs) < 4

    def _has_tasks(self) -> bool:
        return bool(self.sim.tasks)

    # --- runs and their drivers -----------------------------------------------------------------------------

    @initialize(
        what=st.sampled_from(list(TASKS)),
        deadline_s=st.sampled_from([None, DEADLINE_S]),
        stage=st.sampled_from(STAGES),
        moods=moods,
        hides=hides,
        over=over,
    )
    def begins(
        self, what: str, deadline_s: int | None, stage: str, moods: list[str], hides: int, over: int | None
    ) -> None:
        self._offices_are(moods, 0, hides)
        self._starts(what, deadline_s, stage, over)

    @precondition(_may_start)
    @rule(
        what=st.sampled_from(list(TASKS)),
        deadline_s=st.sampled_from([None, None, None, DEADLINE_S]),
        stage=st.sampled_from(STAGES),
        over=over,
    )
    def starts(self, what: str, deadline_s: int | None, stage: str, over: int | None) -> None:
        self._starts(what, deadline_s, stage, over)

    def _starts(self, what: str, deadline_s: int | None, stage: str, over: int | None) -> None:
        """As far as `stage`, and from there on over so many boundaries."""
        try:
            run = self.sim.starts(*TASKS[what], deadline_s)
        except NotAllowed:
            return
        if stage != "accepted":
            self.sim.drive(0, run)
        if stage == "approved":
            self._approves(0, run)
        self.sim.drive(0, run, over)

    @rule(process=process, run=which, over=over)
    def drives(self, process: int, run: int, over: int | None) -> None:
        self.sim.drive(process, self._run(run), over)

    @precondition(_has_tasks)
    @rule(task=which, over=over)
    def goes_on(self, task: int, over: int | None) -> None:
        self.sim.goes_on(self._task(task)[1], over)

    @precondition(_has_tasks)
    @rule(task=which, seconds=st.sampled_from([0.0, 31.0, 61.0]), over=over)
    def is_overtaken(self, task: int, seconds: float, over: int | None) -> None:
        """While a task stands still, the other process drives its run; later the task goes on where it was."""
        where, stopped = self._task(task)
        self.sim.clock.passes(seconds)
        self.sim.drive(1 - where, stopped.name.split()[1], over)

    @precondition(_has_tasks)
    @rule(
        task=which,
        what=st.sampled_from(["pause", "cancel", "take_over", "start", "approve", "grants", "deadline", "expiry"]),
    )
    def meanwhile(self, task: int, what: str) -> None:
        """While a task stands still, something happens that it cannot know of; then it goes on."""
        where, stopped = self._task(task)
        if what in {"pause", "cancel", "take_over"}:
            self.sim.wishes(1 - where, USER, what, stopped.name.split()[1])
        elif what in {"deadline", "expiry"}:
            self.sim.clock.passes(DEADLINE_S + 1 if what == "deadline" else ASKED_FOR_S + 1)
        else:
            for each in KINDS if what == "grants" else [what]:
                self.sim.permits(USER, each, False)
        self.sim.goes_on(stopped, None)

    @precondition(_has_tasks)
    @rule(task=which, when=st.sampled_from(["here", "before", "after"]))
    def dies(self, task: int, when: str) -> None:
        self.sim.dies(self._task(task)[1], when)

    @rule(process=process, proven=st.booleans())
    def process_dies(self, process: int, proven: bool) -> None:
        self.sim.process_dies(process, proven)

    # --- people ---------------------------------------------------------------------------------------------

    @rule(process=process, run=which, over=over)
    def approved_it_goes_on(self, process: int, run: int, over: int | None) -> None:
        self._approves(process, self._run(run))
        self.sim.drive(process, self._run(run), over)

    def _approves(self, process: int, run: str) -> None:
        for asked in self.sim.facts(run).questions:
            self.sim.answers(process, USER, run, decision(asked, "approve"))

    @rule(
        process=process,
        who=st.sampled_from([USER, *PEOPLE]),
        run=which,
        kind=st.sampled_from(["approve", "approve", "reject", "edit", "other digest", "malformed"]),
        form=st.integers(0, 19),
        over=over,
    )
    def answers(self, process: int, who: str, run: int, kind: str, form: int, over: int | None) -> None:
        asked = self.sim.facts(self._run(run)).questions
        if asked:
            self.sim.answers(process, who, self._run(run), _value(asked[-1], kind, form), over)

    @rule(
        process=process,
        who=st.sampled_from([USER, USER, *PEOPLE]),
        wish=st.sampled_from(["cancel", "pause", "pause", "resume", "take_over"]),
        run=which,
        over=over,
    )
    def wishes(self, process: int, who: str, wish: str, run: int, over: int | None) -> None:
        self.sim.wishes(process, who, wish, self._run(run), over)

    @rule(process=process, who=st.sampled_from([USER, *PEOPLE]), run=which, over=over)
    def settles(self, process: int, who: str, run: int, over: int | None) -> None:
        self.sim.settles(process, who, self._run(run), over)

    @rule(process=process, who=st.sampled_from([USER, *PEOPLE]), run=which, yes=st.booleans(), over=over)
    def gives_budget(self, process: int, who: str, run: int, yes: bool, over: int | None) -> None:
        self.sim.gives_budget(process, who, self._run(run), yes, over)

    @rule(
        who=st.sampled_from([USER, USER, USER, "bob"]),
        what=st.sampled_from(["start", "approve", "start", "approve", *PERMITTED[2:], *KINDS]),
        yes=st.sampled_from([False, False, True]),
    )
    def permits(self, who: str, what: str, yes: bool) -> None:
        self.sim.permits(who, what, yes)

    # --- the world ------------------------------------------------------------------------------------------

    @rule(seconds=st.sampled_from([0.001, 1.0, 31.0, 61.0, 301.0]), set_by=st.sampled_from([0, 0, -400, -31, -1, 400]))
    def time_passes(self, seconds: float, set_by: int) -> None:
        self.sim.clock.passes(seconds)
        self.sim.clock.jumps(set_by)

    @rule(process=process)
    def keeper_beats(self, process: int) -> None:
        self.sim.beats(process)

    @rule(moods=moods, silent=st.integers(0, 8), hides=hides)
    def offices_are(self, moods: list[str], silent: int, hides: int) -> None:
        self._offices_are(moods, silent, hides)

    def _offices_are(self, moods: list[str], silent: int, hides: int) -> None:
        for each in self.sim.offices.values():
            each.moods, each.silent, each.hides = list(moods), silent, 0 if each.tracks else hides

    # --- what must be true ----------------------------------------------------------------------------------

    @invariant()
    def nothing_is_wrong(self) -> None:
        self.sim.observer.look()
        self._is_right()

    def _is_right(self) -> None:
        wrong = self.sim.observer.wrong
        self._told = self._told or bool(wrong)
        if wrong:
            raise AssertionError("; ".join(wrong))

    def teardown(self) -> None:
        try:
            if not self._told:
                self.sim.comes_to_an_end()
                self._is_right()
        finally:
            self.sim.close()
            self._folder.cleanup()


def _value(asked: Any, kind: str, form: int) -> Any:
    if kind == "malformed":
        return malformed_answers(asked, asked)[form] if form != 14 else {}  # the 15th is about another run's question
    if kind == "edit":
        changed = {"text": "better"} if "text" in asked.arguments else {}
        return decision(asked, "edit", arguments={**asked.arguments, **changed})
    if kind == "other digest":
        answer = decision(asked, "approve")
        answer["decisions"][0]["digest"] = "0" * 64
        return answer
    return decision(asked, kind)


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What every example begins with is made once."""
    AnyInterleaving.made = template(tmp_path_factory.mktemp("simulation"))


USUAL = settings(
    stateful_step_count=14,
    deadline=None,
    database=None,
    phases=[Phase.generate, Phase.shrink],
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


def test_the_promises_hold_in_any_order_of_events() -> None:
    run_state_machine_as_test(AnyInterleaving, settings=settings(USUAL, max_examples=200, derandomize=True))


@pytest.mark.soak
def test_the_promises_hold_in_thousands_of_orders_of_events() -> None:
    run_state_machine_as_test(AnyInterleaving, settings=settings(USUAL, max_examples=5000, stateful_step_count=50))
