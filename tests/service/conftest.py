"""The command line for the tests of the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import Cli


@pytest.fixture
def remit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command `remit` on an empty data directory."""
    return Cli(tmp_path, monkeypatch, capsys)
