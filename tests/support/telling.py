"""A story is a function about a world; it is told by its name."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.world import World

Story = Callable[[World], None]
STORIES: dict[str, Story] = {}


def story(told: Story) -> Story:
    """One of the stories."""
    STORIES[told.__name__] = told
    return told
