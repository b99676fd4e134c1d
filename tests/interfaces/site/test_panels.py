"""Pictures of made verdicts: what each relation draws, where the axis ends, and where each mark stands."""

import re
import types

import pytest

from lemmata.interfaces.site import _claims, _drawing, _pictures, _sizes, _table
from lemmata.interfaces.site._pictures import Panel, panels, supported_where, words

BOUND, FLOOR = "measured <= predicted with probability 1", "measured >= predicted with probability 1"
EQUAL, BUILT = "measured = predicted, to rounding", "the construction attains the value"


def verdict(**more):
    own = {
        "slack": [2.0, 4.0, 8.0], "interval": [0.01, 0.03], "estimate": 0.02, "band": [0.0, 0.05], "reason": "",
        "control": {"nearest": 2.0, "farthest": 8.0, "violating": 0.75},
    }  # fmt: skip
    return own | more


def drawn(relation, label="upper", **more):
    entry = {"relation": relation, "label": label, "place": "a.b", "class": "C"}
    return panels({**entry, "verdict": verdict(**more)})


def of(panel):
    return (panel.title, panel.band, panel.claim, panel.control, panel.stated, panel.log, panel.percent, panel.either)


MISSES = "share of trials that contradict the claim"
SHARE = (MISSES, (0.0, 0.05), (0.01, 0.02, 0.03), (0.75,), None, False, True, False)


@pytest.mark.parametrize(
    ("relation", "label", "band", "places"),
    [(BOUND, "upper", (1.0, None), (2.0, 0.5)), (FLOOR, "lower", (None, 1.0), (8.0, 32.0))],
)
def test_a_bound_has_a_ratio_and_a_share(relation, label, band, places):
    first, second = drawn(relation, label)
    assert of(first) == ("predicted / measured", band, (2.0, 4.0, 8.0), places, 1.0, True, False, False)
    assert of(second) == SHARE


@pytest.mark.parametrize("slack", [None, [], [0.0, 1.0, 2.0], [1.0, None, 2.0], [1e-291, 1.0, 2.0], [1.0, 2.0, 1e291]])
def test_a_ratio_that_cannot_be_drawn_leaves_the_share(slack):
    assert [of(panel) for panel in drawn(BOUND, slack=slack)] == [SHARE]


def test_controls_of_a_ratio_are_drawn_once_and_only_if_known():
    of_control = lambda near, far: (
        drawn(BOUND, control={"nearest": near, "farthest": far, "violating": 0.75})[0].control
    )
    assert of_control(4.0, 4.0) == (1.0,)
    assert of_control(None, 2.0) == (2.0,)
    assert of_control(None, None) == ()
    assert [panel.title for panel in drawn(BOUND, control={"nearest": 1e300, "farthest": 1.0, "violating": 0.5})] == [
        MISSES
    ]


@pytest.mark.parametrize(
    ("apart", "control", "either"),
    [(0.2, (0.8, 1.25), True), (0.998, (0.002, 500.0), True), (0.999, (), False), (None, (), False), (0.0, (), False)],
)
def test_an_identity_has_controls_on_both_sides(apart, control, either):
    first, second = drawn(EQUAL, slack=[1.5, 1.0, 0.5], control={"nearest": apart, "farthest": None, "violating": None})
    assert first.control == pytest.approx(control)
    assert of(first)[:3] == ("predicted / measured", (None, None), (0.5, 1.0, 1.5))
    assert (first.stated, first.either, first.log) == (1.0, either, False)
    assert of(second) == (MISSES, (0.0, 0.1), (0.01, 0.01, 0.03), (), None, False, True, False)


def test_a_construction_counts_successes():
    (own,) = drawn(BUILT, slack=None)
    title = "share of constructions that attain the predicted value"
    assert of(own) == (title, (0.0, 0.05), (0.01, 0.02, 0.03), (0.25,), None, False, True, False)


@pytest.mark.parametrize(
    "more", [{"interval": None}, {"estimate": None}, {"interval": [None, 0.5]}, {"interval": [0, None]}]
)
def test_without_an_interval_there_is_no_share(more):
    assert drawn(BUILT, **more) == []
    assert [own.title for own in drawn(BOUND, **more)] == ["predicted / measured"]


@pytest.mark.parametrize("relation", [BOUND, FLOOR, EQUAL, BUILT])
def test_a_claim_that_was_not_judged_has_no_picture(relation):
    assert panels({"relation": relation, "label": "upper"}) == []
    assert panels({"relation": relation, "label": "upper", "verdict": None}) == []


def test_an_order_has_steps_and_a_control_with_the_opposite_sign():
    (own,) = drawn("the sequence is ordered", interval=[None, 0.5], estimate=0.25, band=[0.0, None])
    assert of(own) == (_pictures.STEPS, (0.0, None), (0.25, 0.25, 0.5), (-0.25,), 0.0, False, False, False)


@pytest.mark.parametrize(
    ("relation", "reason", "band", "control", "stated"),
    [
        ("measured <= C n^a", "slope 1, stated at most -2.000, supported", [None, 1.0], (-2.5,), -2.0),
        ("measured = C n^a", "slope 1, stated -2.000, supported", [None, 1.0], (-2.5, -1.5), -2.0),
        ("measured = C n^a", "slope 1", [-1.0, 0.0], (-1.0, 0.0), -0.5),
        ("measured = C n^a", "slope 1, stated nothing, supported", [None, 0.0], (), None),
    ],
)  # fmt: skip
def test_an_exponent_has_a_stated_value(relation, reason, band, control, stated):
    apart = {"nearest": 0.5, "farthest": 0.5, "violating": None}
    (own,) = drawn(relation, "rate", reason=reason, band=band, control=apart)
    assert of(own) == (
        "exponent", tuple(band), (0.01, 0.02, 0.03), control, stated, False, False, len(control) > 1
    )  # fmt: skip


@pytest.mark.parametrize(
    ("relation", "relative", "factor", "title", "control"),
    [
        ("mean = predicted", True, 2.0, "mean of measured / predicted - 1", (-0.5, 1.0)),
        ("mean = predicted", False, 2.0, "mean of measured - predicted", (-0.05, 0.05)),
        ("measured -> predicted", True, 4.0, "measured / predicted - 1 at the largest size", (-0.75, 3.0)),
        ("mean = predicted", True, 1.0, "mean of measured / predicted - 1", ()),
        ("mean = predicted", True, None, "mean of measured / predicted - 1", ()),
    ],
)  # fmt: skip
def test_a_mean_has_a_difference(relation, relative, factor, title, control, monkeypatch):
    monkeypatch.setattr(_pictures, "is_relative", lambda place, name: relative and (place, name) == ("a.b", "C"))
    apart = {"nearest": factor, "farthest": factor, "violating": None}
    (own,) = drawn(relation, "mean", control=apart)
    assert own.control == pytest.approx(control)
    assert (own.title, own.stated, own.either) == (title, 0.0, len(control) > 1)
    assert drawn(relation, "mean", control=apart, band=[None, 0.1]) == []
    assert drawn(relation, "mean", control=apart, band=[-0.1, None]) == []
    assert drawn(relation, "mean", control=apart, band=None) == []


@pytest.mark.parametrize(
    ("panel", "domain"),
    [
        (Panel("t", (0.0, 1.0), (0.2, 0.3, 0.4), ()), (-0.06, 1.06)),
        (Panel("t", (None, None), (1.0, 2.0, 3.0), (), 0.0), (-0.18, 3.18)),
        (Panel("t", (0.0, 1.0), (0.2, 0.3, 0.4), (2.0,)), (-0.12, 2.12)),
        (Panel("t", (None, None), (5.0, 5.0, 5.0), ()), (4.94, 5.06)),
        (Panel("t", (None, None), (0.0, 0.0, 0.0), ()), (-0.06, 0.06)),
        (Panel("t", (None, None), (5.0, 5.0, 5.0), (7.0,)), (4.88, 7.12)),
        (Panel("t", (0.0, 0.05), (0.01, 0.02, 0.03), (), percent=True), (0.0, 0.104)),
        (Panel("t", (0.0, 0.05), (0.01, 0.02, 0.03), (0.75,), percent=True), (0.0, 0.78)),
        (Panel("t", (1.0, None), (2.0, 4.0, 8.0), (0.5,), 1.0, log=True), (0.5 / 16**0.08, 8 * 16**0.08)),
        (Panel("t", (1.0, None), (1.0, 1.0, 1.0), (), 1.0, log=True), (1 / 1.05, 1.05)),
    ],
)  # fmt: skip
def test_an_axis_holds_what_is_drawn_with_a_margin(panel, domain):
    assert panel.domain == pytest.approx(domain, rel=1e-12)


def test_a_control_that_is_far_is_not_on_the_axis():
    far = _pictures._FAR
    inside, outside = (Panel("t", (0.0, 1.0), (0.5, 0.5, 0.5), (1 + far * share,)) for share in (0.99, 1.01))
    assert inside.domain[1] > 1 + 0.99 * far
    assert outside.domain == pytest.approx((-0.06, 1.06))
    below, beyond = (Panel("t", (0.0, 1.0), (0.5, 0.5, 0.5), (-far * share,)) for share in (0.99, 1.01))
    assert below.domain[0] < -0.99 * far
    assert beyond.domain == pytest.approx((-0.06, 1.06))


@pytest.mark.parametrize(
    ("band", "said"),
    [
        ((None, None), "at 1"),
        ((1.0, 2.0), "from 1.00 to 2.00"),
        ((1.0, None), "at least 1.00"),
        ((None, 2.0), "at most 2.00"),
    ],
)
def test_a_band_is_told_in_words(band, said):
    assert supported_where(band) == said


def test_panels_are_told_in_words():
    first, second = Panel("a", (1.0, None), (1.0, 2.0, 3.0), (4.0, 5.0)), Panel("b", (None, 2.0), (0.5, 1.0, 1.5), ())
    assert words([first, second]) == (
        "a: 2.00, from 1.00 to 3.00; supported at least 1.00; the control: 4.00 or 5.00. "
        "b: 1.00, from 0.500 to 1.50; supported at most 2.00."
    )


@pytest.mark.parametrize(
    ("log", "value", "place"),
    [
        (False, 0.0, 0), (False, 5.0, 145), (False, 10.0, 290), (False, 99.0, 290), (False, -9.0, 0), (True, 1.0, 0),
        (True, 10.0, 145), (True, 100.0, 290), (True, 0.01, 0), (True, 1e9, 290),
    ],
)  # fmt: skip
def test_a_value_has_its_place_on_the_axis(log, value, place):
    low, high = (1.0, 100.0) if log else (0.0, 10.0)
    assert _drawing._scale(low, high, log)(value) == pytest.approx(place)


def test_the_marks_of_a_picture_stand_at_their_values():
    panel = types.SimpleNamespace(
        title="a < b", domain=(0.0, 10.0), band=(2.0, 4.0), claim=(1.0, 3.0, 6.0), control=(5.0, 20.0, -3.0),
        stated=8.0, log=False, percent=False,
    )  # fmt: skip
    text = str(_drawing.drawn([panel, panel], "said"))
    assert text.startswith(
        '<svg role="img" overflow="visible" aria-label="said" width="372" height="207" viewBox="0 0 372 207"'
    )
    assert re.findall(r'<g transform="translate\((\d+),(\d+)\)"', text) == [("51", "7"), ("51", "115")]
    one = str(_drawing._panel(panel, 52))
    assert '<rect x="58.0" width="58.0" height="52"' in one
    assert '<path d="M232.0 0V52" stroke="currentColor" stroke-dasharray="4 3"/>' in one
    assert '<path d="M29.0 13H174.0"' in one
    assert '<circle cx="87.0" cy="13"' in one
    marks = re.findall(r'points="([^"]*)" transform="translate\(([\d.]+),(\d+)\)', one)
    assert marks == [("0,-6.5 6.5,0 0,6.5 -6.5,0", "145.0", "39"), ("6,0 -4,5.5 -4,-5.5", "290.0", "39"),
                     ("-6,0 4,5.5 4,-5.5", "0.0", "39")]  # fmt: skip
    assert 'x="-9" y="17" text-anchor="end">claim<' in one
    assert 'x="-9" y="43" text-anchor="end">control<' in one
    assert 'x="145" y="85" text-anchor="middle" font-size="12">a &lt; b<' in one
    assert 'y="68" text-anchor="middle">' in one
    open_ended = types.SimpleNamespace(**vars(panel) | {"band": (None, 4.0), "stated": None})
    assert '<rect x="0.0" width="116.0"' in str(_drawing._panel(open_ended, 52))
    open_ended.band = (4.0, None)
    assert '<rect x="116.0" width="174.0"' in str(_drawing._panel(open_ended, 52))
    assert "stroke-dasharray" not in str(_drawing._panel(open_ended, 52))
    open_ended.band = (None, None)
    assert "<rect" not in str(_drawing._panel(open_ended, 52))


def test_a_public_name_has_its_address_in_the_package_or_in_a_subject():
    addresses = {"lemmata.solvers.a": "solvers.html#a", "lemmata.subjects.attention.b": "attention.html#b"}
    assert _claims._place("solvers.a", addresses) == "solvers.html#a"
    assert _claims._place("attention.b", addresses) == "attention.html#b"
    assert _claims._place("nothing", addresses) is None
    assert _claims._below(None) is None
    assert _claims._below("a.html") == "../a.html"


def test_signs_of_latex_are_escaped():
    assert _claims._latex(r"50% of a_b \ ^ ~ #1 & $x") == r"50\% of a\_b  \^{} \~{} \#1 \& \$x"


def test_pictures_have_their_size():
    png = b"\x89PNG" + bytes(12) + (640).to_bytes(4, "big") + (48).to_bytes(4, "big")
    files: dict[str, str | bytes] = {"docs/a.png": png, "b.svg": '<svg viewBox="-1 0 12.6 7">', "docs/c.txt": b"none"}
    text = "".join(f'<img src="{name}">' for name in ("a.png", "../b.svg", "c.txt", "d.png"))
    assert _sizes.sized("docs/page.html", text, files) == (
        '<img src="a.png" width="640" height="48"><img src="../b.svg" width="13" height="7"><img src="c.txt">'
        '<img src="d.png">'
    )
    assert _sizes.sized("docs/page.html", '<img src="a.png" width="3">', files) == '<img src="a.png" width="3">'


def test_refuted_claims_come_first_and_then_the_tightest():
    row = lambda status, passage="", kind="", tightness="exact": _table._rank(
        {"status": status, "passage": passage, "kind": kind, "tightness": tightness}
    )
    order = [
        row("refuted", "p"), row("refuted", kind="folklore"), row("refuted", kind="own result"), row("refuted"),
        row("supported"), row("supported", tightness="within 2"), row("supported", tightness="not a ratio"),
        row("vacuous"), row("failed", tightness="within 10"),
    ]  # fmt: skip
    assert order == sorted(order)
    assert len(set(order)) == len(order)
    assert {own[0] for own in order} == {0, 1, 2}
