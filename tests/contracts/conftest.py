"""A receiver of webhooks, one process for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.hook_receiver import HookReceiver


@pytest.fixture(scope="session")
def hook_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HookReceiver]:
    started = HookReceiver(tmp_path_factory.mktemp("hooks"))
    yield started
    started.stop()


@pytest.fixture
def hooks(hook_process: HookReceiver) -> HookReceiver:
    """The receiver, with no faults and no calls."""
    return hook_process.fresh()
