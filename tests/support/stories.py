"""All stories, by name."""

from __future__ import annotations

import tests.support.stories_of_effects
import tests.support.stories_of_people
import tests.support.stories_of_runs  # noqa: F401 - all of them tell
from tests.support.telling import STORIES

__all__ = ["STORIES"]
