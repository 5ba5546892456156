"""What a run leaves in the databases is exactly this, to the last column.

The records are kept in `tests/fixtures/records/`. `python -m tests.fixtures.make_records` writes them anew, after a
change that is meant: read the difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fixtures.make_records import RECORDS, told
from tests.support.stories import STORIES


@pytest.mark.parametrize("name", STORIES)
def test_a_story_leaves_exactly_these_records(tmp_path: Path, name: str) -> None:
    assert told(name, tmp_path) == (RECORDS / f"{name}.txt").read_text().splitlines()
