"""All stories, by name."""

from __future__ import annotations

import tests.support.stories_of_effects
import tests.support.stories_of_runs  # noqa: F401 - both tell
from tests.support.telling import STORIES

__all__ = ["STORIES"]
