"""Find lines through a row of gates (vertical segments). The lines through given gates, as pairs (value, slope), form a
convex polygon.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Polygon = Float[np.ndarray, "_ 2"]

_STEEP = 3.0  # the largest slope of lines at a single gate, relative to the steepest line to a next gate


class Link(NamedTuple):
    """The lines through the gates `first`, ..., `last`. A line is given by its value at the last gate and its slope."""

    lines: Polygon
    first: int
    last: int


def _clip(lines: Polygon, low: float, high: float) -> Polygon:
    """Return the part of a polygon of lines where the value is between `low` and `high`. Each bound cuts off one run of
    adjacent vertices.
    """
    for sign, bound in ((1.0, high), (-1.0, -low)):
        room = bound - sign * lines[:, 0]
        inside = room >= 0
        if inside.all():
            continue
        if not inside.any():
            return lines[:0]
        start = int(np.flatnonzero(inside & ~np.roll(inside, 1))[0])
        lines, room = np.roll(lines, -start, axis=0), np.roll(room, -start)
        count = int(inside.sum())
        cuts = []
        for kept, lost in ((0, -1), (count - 1, count)):
            part = room[kept] / (room[kept] - room[lost])
            cuts.append([sign * bound, lines[kept, 1] + part * (lines[lost, 1] - lines[kept, 1])])
        lines = np.concatenate([cuts[:1], lines[:count], cuts[1:]])
    return lines


def links(
    x: Float[np.ndarray, " n"], low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"], joined: bool
) -> list[Link]:
    """Return lines through all gates from left to right. Each line passes through as many gates as possible.

    The lines from left to right form links, each of which passes through a run of gates. Separate lines (not joined)
    are as few as possible. If no line of a link passes through the next gate, a new link begins there. Joined lines
    then bend between the two gates. In rare cases, bending earlier would need one link fewer.

    Args:
        x: the places of the gates.
        low: the lower ends of the gates.
        high: the upper ends of the gates.
        joined: whether each line must meet a line of the previous link in the gap between the two links.
    """
    xs, lows, highs = x.tolist(), low.tolist(), high.tolist()
    corners = lambda i, s, t, u, v: np.array([(lows[i], s), (highs[i], t), (highs[i], u), (lows[i], v)])
    steep = _steepest(x, low, high).tolist()
    fresh = lambda i: corners(i, -steep[i], -steep[i], steep[i], steep[i])
    found, lines, first = [], fresh(0), 0
    for i in range(1, len(xs)):
        step = xs[i] - xs[i - 1]
        moved = lines + lines[:, 1:] * [[step, 0.0]]
        kept = _clip(moved, lows[i], highs[i])
        if len(kept):
            lines = kept
            continue
        found.append(Link(lines, first, i - 1))
        start, lines = lines, fresh(i)
        if joined:
            # the lines of the previous link all pass above this gate, or all below it, so the new line comes from that
            # side
            above = bool(moved[:, 0].min() > highs[i])
            edge = start[:, 0].min() if above else start[:, 0].max()
            most = -steep[i] if above else steep[i]
            lines = corners(i, most, most, (highs[i] - edge) / step, (lows[i] - edge) / step)
        first = i
    return [*found, Link(lines, first, len(xs) - 1)]


def _steepest(
    x: Float[np.ndarray, " n"], low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return, for each gate, three times an upper bound on the slopes of lines from this gate through a neighbouring
    gate.
    """
    slopes = (np.maximum(high[1:], high[:-1]) - np.minimum(low[1:], low[:-1])) / np.diff(x)
    return _STEEP * np.maximum(np.append(slopes, 0.0), np.append(0.0, slopes))


def joined_line(found: list[Link], x: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of the knots of a piecewise linear function that uses one line of each link. The first and the
    last gate count as knots.

    Lines are chosen from the last link back to the first. Each line must meet the next line in the gap between their
    links.
    """
    value, slope = np.mean(found[-1].lines, axis=0)
    knots = [(x[-1], value)]
    at = x[-1]
    for link in reversed(found[:-1]):
        here, there = x[link.last], x[link.last + 1]
        lines = link.lines
        next_here, next_there = value + slope * (here - at), value + slope * (there - at)
        gaps = np.stack([lines[:, 0] - next_here, lines[:, 0] + lines[:, 1] * (there - here) - next_there])
        place, line = _meeting(gaps, lines)
        bend = here + place * (there - here)
        knots.append((bend, value + slope * (bend - at)))
        value, slope, at = float(line[0]), float(line[1]), here
    knots.append((x[0], value + slope * (x[0] - at)))
    return tuple(np.array(knots[::-1]).T)  # pyright: ignore[reportReturnType]


def _meeting(gaps: np.ndarray, lines: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the place in a gap between links, from 0 to 1, where a weighted mean of `lines` meets the next line, and
    this mean. `gaps` contains the vertical distances from the next line at both ends of the gap.
    """
    middle = gaps.mean(axis=1)
    if middle[0] * middle[1] <= 0:
        place = 0.5 if middle[0] == middle[1] else middle[0] / (middle[0] - middle[1])
        return float(place), lines.mean(axis=0)
    for end in (0, 1):
        # move the mean of the lines towards the line that is farthest on the other side, until the distance is 0
        other = int(np.argmin(gaps[end] * np.sign(middle[end])))
        if gaps[end, other] * middle[end] <= 0:
            part = middle[end] / (middle[end] - gaps[end, other])
            return float(end), (1 - part) * lines.mean(axis=0) + part * lines[other]
    best = int(np.argmin(np.abs(gaps).min(axis=0)))
    return float(np.argmin(np.abs(gaps[:, best]))), lines[best]
