"""Sending to a receiver in another process: at least once, under one id, until it has the message or no try is left."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise

import pytest

from service.notify import SLACK_MS, Notifier
from state.errors import InputInvalid
from tests.support.faults import Crash, crashing_ledger
from tests.support.hook_receiver import KEY, OLD_KEY, HookReceiver
from tests.support.killed_sender import is_killed_after_sending
from tests.support.notified import Told
from tests.support.wire import Down
from tests.support.world import World

YEAR_S = 365 * 24 * 3600


@pytest.fixture
def told(loop_world: World) -> Told:
    return Told(loop_world)


@pytest.fixture
def ended(told: Told, hooks: HookReceiver) -> Told:
    """A run has ended, and one message about it waits for being sent."""
    told.by_webhook(hooks, events=["run.completed"])
    told.world.noter().approve()
    return told


def status(how: int, **more: object) -> dict[str, object]:
    return {"how": "status", "status": how, **more}


def test_a_message_comes_signed_and_is_sent_once(ended: Told, hooks: HookReceiver) -> None:
    assert (ended.sends(), ended.sends()) == (1, 0)

    (call,) = hooks.calls
    assert (call["id"], call["valid"], call["body"]) == (ended.one["message_id"], [True, False], ended.one["payload"])
    assert (ended.one["status"], ended.one["tries"], ended.one["last_error"]) == ("sent", 1, None)
    assert ended.sender().next_at() is None


def test_what_fails_is_sent_again_under_the_same_id_until_the_receiver_has_it(ended: Told, hooks: HookReceiver) -> None:
    hooks.will(status(500), {"how": "cut"}, status(404))

    ended.sends()
    waits = [ended.waits_and_sends() for _ in range(3)]

    assert len(hooks.calls) == 4
    assert {each["id"] for each in hooks.calls} == {ended.one["message_id"]}
    assert all(each["valid"] == [True, False] for each in hooks.calls)
    assert (ended.one["status"], ended.one["tries"]) == ("sent", 4)
    assert [wait > 2.5 * before for before, wait in pairwise(waits)] == [True, True]


def test_a_message_whose_answer_is_lost_comes_twice_and_is_handled_once(ended: Told, hooks: HookReceiver) -> None:
    hooks.will({"how": "lose"})

    ended.sends()
    ended.waits_and_sends()

    assert len(hooks.calls) == 2
    assert hooks.times_handled(ended.one["message_id"]) == 1
    assert ended.one["status"] == "sent"


def test_a_status_that_came_counts_whatever_becomes_of_the_rest(ended: Told, hooks: HookReceiver) -> None:
    hooks.will({"how": "half"})

    ended.sends()

    assert (ended.one["status"], len(hooks.calls)) == ("sent", 1)


def test_each_try_is_signed_at_its_own_time(ended: Told, hooks: HookReceiver) -> None:
    hooks.will(status(503))

    ended.sends()
    wait = ended.waits_and_sends()

    first, second = (int(each["timestamp"]) for each in hooks.calls)
    assert abs(second - first - wait / 1000) <= 1


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_a_receiver_that_asks_to_be_left_alone_is(ended: Told, hooks: HookReceiver, form: str) -> None:
    then = datetime.fromtimestamp(ended.world.clock.now() / 1000, UTC) + timedelta(hours=2)
    after = "7200" if form == "seconds" else format_datetime(then, usegmt=True)
    hooks.will(status(429, headers={"Retry-After": after}))

    ended.sends()

    assert abs(ended.one["next_at"] - ended.world.clock.now() - 7_200_000) < 1001
    ended.world.clock.passes(seconds=7100)
    assert ended.sends() == 0


def test_a_receiver_that_wants_no_more_gets_no_more_of_it(ended: Told, hooks: HookReceiver) -> None:
    hooks.will(status(410))

    ended.sends()

    assert (ended.one["status"], ended.one["last_error"]) == ("dead", "HTTP 410: the receiver wants no more.")
    assert ended.sender().next_at() is None


def test_a_redirect_is_not_followed(ended: Told, hooks: HookReceiver) -> None:
    hooks.will(status(307, headers={"Location": f"{hooks.url}/elsewhere"}))

    ended.sends()

    assert [each["path"] for each in hooks.calls] == ["/"]
    assert (ended.one["status"], ended.one["last_error"]) == ("pending", "HTTP 307, a redirect, which is not followed.")


def test_after_its_last_try_a_message_is_dead(told: Told, hooks: HookReceiver) -> None:
    told.by_webhook(hooks, events=["run.completed"], tries=2)
    told.world.noter().approve()
    hooks.will(*[status(404)] * 9)

    told.sends()
    told.waits_and_sends()

    assert (told.one["status"], told.one["tries"], told.one["last_error"]) == ("dead", 2, "HTTP 404.")
    told.world.clock.passes(seconds=YEAR_S)
    assert (told.sends(), len(hooks.calls)) == (0, 2)


def test_nothing_of_an_answer_or_a_key_is_kept(ended: Told, hooks: HookReceiver) -> None:
    hooks.will(status(500, body=f"you sent canary-answer and {KEY}"))

    ended.sends()

    assert ended.one["last_error"] == "HTTP 500."


def while_it_hangs(hooks: HookReceiver, act: Callable[[], object]) -> threading.Thread:
    """Once a call has come in, this happens."""

    def wait_and_act() -> None:
        give_up = time.monotonic() + 30
        while not hooks.calls and time.monotonic() < give_up:
            time.sleep(0.01)
        act()

    hooks.will({"how": "hang"})
    made = threading.Thread(target=wait_and_act)
    made.start()
    return made


def test_a_receiver_that_does_not_answer_in_time_is_tried_again(ended: Told, hooks: HookReceiver) -> None:
    acting = while_it_hangs(hooks, lambda: ended.world.clock.passes(seconds=5))

    ended.sender().send_due(1, within_s=4)

    acting.join()
    assert (ended.one["status"], ended.one["last_error"]) == ("pending", "No answer: time is up.")


def test_a_sender_that_is_to_stop_does_not_wait_for_an_answer(ended: Told, hooks: HookReceiver) -> None:
    sender = ended.sender()
    acting = while_it_hangs(hooks, sender.stop)

    sender.follow()

    acting.join()
    assert (ended.one["status"], ended.one["last_error"]) == ("pending", "No answer: this process is going away.")


def test_a_receiver_that_cannot_be_reached_is_tried_again(told: Told) -> None:
    down = Down()
    told.by_webhook(down.url, events=["run.completed"])
    told.world.noter().approve()

    told.sends()

    down.close()
    assert told.one["status"] == "pending"
    assert told.one["last_error"].startswith("No answer: ConnectError")


# --- keys ---------------------------------------------------------------------------------------------------


def test_while_a_key_is_changed_receivers_with_either_can_check(told: Told, hooks: HookReceiver) -> None:
    told.by_webhook(hooks, events=["run.completed"], keys=["secret://HOOK_KEY", "secret://OLD_HOOK_KEY"])
    told.world.noter().approve()

    told.sends()

    assert hooks.calls[0]["valid"] == [True, True]


@pytest.mark.parametrize(
    ("value", "says"),
    [(None, "set REMIT_SECRET_HOOK_KEY"), ("canary-short", "make one: echo whsec_"), ("whsec_Y2FuYXJ5", "make one")],
)
def test_without_a_key_nothing_is_sent_and_the_reason_says_what_to_do(
    ended: Told, hooks: HookReceiver, value: str | None, says: str
) -> None:
    ended.world.secrets.pop("REMIT_SECRET_HOOK_KEY")
    ended.world.secrets |= {} if value is None else {"REMIT_SECRET_HOOK_KEY": value}

    ended.sends()

    assert hooks.calls == []
    assert says in ended.one["last_error"]
    assert (value or "-") not in ended.one["last_error"]
    ended.world.secrets["REMIT_SECRET_HOOK_KEY"] = OLD_KEY
    ended.waits_and_sends()
    assert hooks.calls[0]["valid"] == [False, True]


# --- several senders, and senders that die ------------------------------------------------------------------


def test_of_two_processes_one_sends_each_message(told: Told, hooks: HookReceiver) -> None:
    told.by_webhook(hooks, events=["run.*", "approval.requested"])
    for _ in range(2):
        told.world.noter().approve()
    other = told.world.elsewhere()
    both = [told.sender(), Notifier(other.parts.ledger, other.parts.notifications)]
    tried: list[int] = []

    threads = [threading.Thread(target=lambda each=each: tried.append(each.send_due(100))) for each in both]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    other.close()
    assert sum(tried) == len(hooks.calls) == 6
    assert len({each["id"] for each in hooks.calls}) == 6


@pytest.mark.parametrize(("dies", "when", "calls"), [(1, "before", 1), (1, "after", 1), (2, "before", 2)])
def test_a_sender_that_dies_leaves_the_message_to_the_next_one(
    ended: Told, hooks: HookReceiver, dies: int, when: str, calls: int
) -> None:
    world = ended.world
    world.restart()
    world.dies(ledger=crashing_ledger(dies, when))
    with pytest.raises(Crash):
        ended.sends()
    world.restart()

    world.clock.passes(seconds=(11_000 + SLACK_MS + 1) / 1000)
    ended.sends()

    assert [each["id"] for each in hooks.calls] == [ended.one["message_id"]] * calls
    assert (ended.one["status"], hooks.times_handled(ended.one["message_id"])) == ("sent", 1)


def test_a_message_that_somebody_sends_is_left_alone_by_others(ended: Told, hooks: HookReceiver) -> None:
    ended.world.restart()
    ended.world.dies(ledger=crashing_ledger(1, "after"))
    with pytest.raises(Crash):
        ended.sends()
    ended.world.restart()

    assert (ended.sends(), hooks.calls) == (0, [])


def test_senders_that_die_at_every_try_use_up_the_tries(told: Told, hooks: HookReceiver) -> None:
    told.by_webhook(hooks, events=["run.completed"], tries=1)
    told.world.noter().approve()
    told.world.restart()
    told.world.dies(ledger=crashing_ledger(2, "before"))
    with pytest.raises(Crash):
        told.sends()
    told.world.restart()
    told.world.clock.passes(seconds=60)

    told.sends()

    assert (told.one["status"], len(hooks.calls)) == ("dead", 1)
    assert told.one["last_error"] == "Begun 1 times, and never heard of again."


# --- clocks -------------------------------------------------------------------------------------------------


def test_a_clock_that_was_a_year_ahead_keeps_no_message_back(told: Told, hooks: HookReceiver) -> None:
    told.by_webhook(hooks, events=["run.completed"])
    told.world.clock.jumps(seconds=YEAR_S)
    told.world.noter().approve()
    told.world.clock.jumps(seconds=-YEAR_S)

    assert told.sender().next_at() == told.world.clock.now()
    told.sends()

    assert told.one["status"] == "sent"


def test_a_clock_that_jumps_ahead_makes_a_message_due_and_sends_it_once(ended: Told, hooks: HookReceiver) -> None:
    hooks.will(status(500))
    ended.sends()
    ended.world.clock.jumps(seconds=YEAR_S)

    assert (ended.sends(), ended.sends()) == (1, 0)


def test_a_receiver_whose_clock_is_another_one_refuses_and_is_tried_again(ended: Told, hooks: HookReceiver) -> None:
    ended.world.clock.jumps(seconds=3600)

    ended.sends()

    assert hooks.calls[0]["valid"] == [False, False]
    assert (ended.one["status"], ended.one["last_error"]) == ("pending", "HTTP 401.")


# --- many ---------------------------------------------------------------------------------------------------


def test_messages_of_a_run_come_in_the_order_of_its_timeline(told: Told, hooks: HookReceiver) -> None:
    told.by_webhook(hooks)
    told.world.check().approve()

    told.sends()

    assert hooks.types == ["approval.requested", "run.waiting_approval", "run.completed"]


def test_a_target_that_is_silent_does_not_keep_the_others_waiting(told: Told, hooks: HookReceiver) -> None:
    down = Down()
    hook = {"keys": ["secret://HOOK_KEY"], "events": ["run.*"]}
    told.by(silent={**hook, "url": down.url}, well={**hook, "url": hooks.url})
    told.world.noter().approve()

    assert told.sends() == 3

    down.close()
    tries = {each["message_id"].partition("_")[0]: 0 for each in told.rows}
    for each in told.rows:
        tries[each["message_id"].partition("_")[0]] += each["tries"]
    assert (tries, len(hooks.calls)) == ({"silent": 1, "well": 2}, 2)


def test_a_silent_target_is_tried_with_its_other_messages_after_a_rest(told: Told) -> None:
    down = Down()
    told.by_webhook(down.url, events=["run.*"])
    told.world.noter().approve()
    sender = told.sender()

    assert sender.send_due(10) == 1
    next_at = sender.next_at() or 0
    assert sender.send_due(10) == 0
    told.world.clock.passes(seconds=(next_at - told.world.clock.now()) / 1000)

    assert sender.send_due(10) == 1
    down.close()


def test_no_more_are_sent_than_asked_for(told: Told, hooks: HookReceiver) -> None:
    told.by_webhook(hooks)
    told.world.check().approve()

    assert (told.sends(2), told.sends(2), told.sends(2)) == (2, 1, 0)


def test_one_that_is_to_stop_begins_nothing(ended: Told, hooks: HookReceiver) -> None:
    sender = ended.sender()
    sender.stop()

    sender.follow()

    assert (sender.send_due(10), hooks.calls) == (0, [])


def test_a_target_that_is_named_no_more_keeps_its_messages_until_their_tries_are_used_up(ended: Told) -> None:
    ended.by(other={"command": ["/bin/true"]})

    ended.sends()

    assert (ended.one["status"], ended.one["last_error"]) == (
        "pending", "REMIT_NOTIFY names no target 'ops' any more.",
    )  # fmt: skip


def test_where_nobody_is_to_be_told_there_is_no_sender(loop_world: World) -> None:
    with pytest.raises(InputInvalid, match="set REMIT_NOTIFY to a file"):
        Notifier(loop_world.parts.ledger, loop_world.parts.notifications)


def test_what_is_sent_is_json_of_the_shape_that_is_documented(ended: Told, hooks: HookReceiver) -> None:
    ended.sends()

    body = json.loads(hooks.calls[0]["body"])
    assert list(body) == ["message_id", "type", "timestamp", "data"]
    assert {"event_id", "run_id", "seq", "tenant_id", "agent_id", "status", "status_reason"} <= set(body["data"])


def test_however_many_are_due_each_gets_its_turn(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.outbox.PAGE", 2)
    told.by(**{f"t{number}": {"command": ["true"], "events": ["run.*"]} for number in range(3)})
    told.world.noter().approve()
    told.by(other={"command": ["true"]})

    assert told.sends() == 6

    assert {each["tries"] for each in told.rows} == {1}


@pytest.mark.long
def test_a_message_whose_sender_was_killed_comes_again_under_its_id(ended: Told, hooks: HookReceiver) -> None:
    assert is_killed_after_sending(ended.world.folder) == -signal.SIGKILL
    assert (ended.one["status"], ended.one["tries"]) == ("pending", 1)

    ended.world.clock.passes(seconds=120)
    ended.sends()

    assert [each["id"] for each in hooks.calls] == [ended.one["message_id"]] * 2
    assert hooks.times_handled(ended.one["message_id"]) == 1
    assert (ended.one["status"], ended.one["tries"]) == ("sent", 2)
