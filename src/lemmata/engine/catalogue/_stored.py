"""The schema of a section's records of verdicts."""

from typing import Any, NotRequired, TypedDict

from lemmata.stored import Count, Share

_Ends = list[float | None]


class StoredControl(TypedDict):
    """The record of a control (a false statement near the claim): see `ControlVerdict`."""

    status: str
    violating: Share | None
    nearest: float | None
    farthest: float | None


class StoredCorner(TypedDict):
    """The record of the verdict at an extra setting ("corner"): see `Corner`."""

    setting: dict[str, int | float | str]
    status: str
    reason: str
    slack: float | None
    gap: float | None
    p_value: Share


class StoredPrint(TypedDict):
    """The digests of the code that was judged: see `Fingerprint`."""

    whole: str
    own: str
    shared: dict[str, str]


class StoredVerdict(TypedDict):
    """A claim's record; missing fields have a default (see `DEFAULTS`)."""

    status: str
    reason: str
    requested: Count
    executed: Count
    control: StoredControl
    fingerprint: StoredPrint
    setting: NotRequired[dict[str, int | float | str]]
    seed: NotRequired[Count]
    level: NotRequired[Share]
    judged: NotRequired[Count]
    dropped: NotRequired[dict[str, Count]]
    violated: NotRequired[list[str]]
    estimate: NotRequired[float | None]
    interval: NotRequired[_Ends | None]
    band: NotRequired[_Ends | None]
    slack: NotRequired[_Ends | None]
    vacuous: NotRequired[Share | None]
    corners: NotRequired[list[StoredCorner]]
    p_value: NotRequired[Share]
    worst: NotRequired[Count | None]
    interrupted: NotRequired[bool]
    search: NotRequired[dict[str, Any]]
    walk: NotRequired[dict[str, Any]]
    mutations: NotRequired[dict[str, Any]]
