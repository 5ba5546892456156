"""The words the notice reader thinks in: units of text, dates found in them, and what a date is for.

Everything here is a plain value; no module of the reader keeps state between two notices.
"""

from dataclasses import dataclass
from datetime import date
from enum import Enum, IntEnum, auto


class Role(Enum):
    """What a date in a notice is the date of."""

    EFFECTIVE = auto()
    HYPOTHETICAL = auto()
    NEGATED = auto()
    PUBLISHED = auto()
    COMMENT = auto()
    COMPLIANCE = auto()
    CITED = auto()
    EXPIRY = auto()
    MILESTONE = auto()
    NEUTRAL = auto()


class Strength(IntEnum):
    """How plainly a wording says that something comes into force; a plainer wording beats a vaguer one."""

    HINT = 1
    CHANGE = 2
    FORCE = 3
    MOVED = 4


class Form(Enum):
    """How a date is written, which decides whether it names one day."""

    DAY = auto()
    EITHER_ORDER = auto()
    NO_YEAR = auto()
    NO_DAY = auto()
    COUNTED = auto()


@dataclass(frozen=True, slots=True)
class Unit:
    """One sentence, line or table cell: its tidied text, and where it stands in the notice as it was given."""

    index: int
    text: str
    start: int
    end: int
    heading: str
    block: int
    head: bool
    row: str = ""


@dataclass(frozen=True, slots=True)
class Count:
    """A described day: where it stands, the event that it counts from, and how far."""

    start: int
    end: int
    event: str
    number: int = 0
    unit: str = "day"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a unit's text that names or describes a day."""

    start: int
    end: int
    form: Form
    day: date | None = None
    month_day: tuple[int, int] | None = None
    numbers: tuple[int, int, int] | None = None
    weekday: int | None = None
    year: int | None = None
    count: Count | None = None


@dataclass(frozen=True, slots=True)
class Cue:
    """A wording that says what a nearby date is for."""

    start: int
    end: int
    role: Role
    strength: Strength = Strength.CHANGE
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Mention:
    """A date in its place: the day it names when it names one, and what it is for."""

    unit: Unit
    span: Span
    day: date | None
    cue: Cue | None
    role: Role
    strength: Strength
    dropped: bool = False
    narrow: bool = False
    everyone: bool = False
    part: bool = False
    earlier: bool = False
