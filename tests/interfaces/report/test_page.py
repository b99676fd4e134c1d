"""The page is whole, escapes what the user named, and copes with a record of any size."""

import dataclasses
import json
import pathlib
import re
import runpy

import pytest

from lemmata.errors import DataError
from lemmata.interfaces.report import _vega, page_text, write_page
from lemmata.interfaces.report._vega import bundle
from lemmata.workflows.records.studies import Finding
from tests.interfaces.report.example import classified, empty, measured, noise
from tests.interfaces.report.page import Page

PAYLOAD = "\"'><script>alert(1)</script><!-- {{ 7 * 7 }}\x00\x07\x1b[31m\u2028\u202e\ud800</style>"
MATHML = {"math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msup", "msub", "msubsup", "mfrac", "msqrt"}
KEPT = {"regression", "classification", "applies", "inapplicable"}


def page_of(record, directory):
    return write_page(directory, record).read_text(encoding="utf-8")


def spoiled(value):
    """The record with a payload behind each string, but those that the study itself chooses from a list."""
    if isinstance(value, str):
        return value if value in KEPT else value + PAYLOAD
    if isinstance(value, dict):
        return {key: spoiled(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(
            value, **{f.name: spoiled(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    return [spoiled(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def undrawn(monkeypatch):
    """Pages without the pictures and scripts, which take seconds."""
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec, vl_version: "<svg></svg>")
    monkeypatch.setattr("lemmata.interfaces.report._page.bundle", lambda: "")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return page_of(classified(), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    return page_of(spoiled(classified()), tmp_path_factory.mktemp("hostile"))


def test_the_page_needs_no_other_file_and_no_network(text):
    page = Page(text)
    fetching = [value for _, name, value in page.attributes if name in ("src", "href", "data", "action", "srcset")]
    assert all(value.startswith("#") for value in fetching)
    assert "link" not in page.tags
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", "".join(page.texts["style"]))
    assert len(text) < 3_000_000


def test_every_link_inside_the_page_has_its_target_and_every_anchor_is_its_own(text):
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    links = {value[1:] for _, name, value in page.attributes if name in ("href", "xlink:href")}
    clips = set(re.findall(r"url\(#([^)]+)\)", text[: text.index("<script>")]))
    assert clips
    assert links | clips <= set(page.ids)


def test_each_picture_is_there_as_svg_and_as_specification(text):
    page = Page(text)
    assert set(page.specs) == {"curves", "all-curves", "theory", "spectra", "training-0"}
    assert {f"chart-{name}" for name in page.specs} <= set(page.ids)
    assert text.count("window.vegaEmbed=") == 1
    assert page.tags.count("svg") == len(page.specs) + 2, "and a histogram for each of the two columns"


def labels(page):
    """The words of each picture, by the elements that are said to be one."""
    roles = [(tag, value) for tag, name, value in page.attributes if name == "role" and value == "img"]
    return roles, [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]


def test_each_picture_says_in_words_what_it_shows(text):
    page = Page(text)
    roles, words = labels(page)
    assert roles == [("svg", "img")] * len(page.specs)
    told = {name: item["spec"]["description"] for name, item in page.specs.items()}
    assert sorted(words) == sorted(told.values()), "the drawn picture and the one of the script say the same"
    assert told["curves"] == (
        "Learning curve: accuracy against training rows; 400 rows in the table; "
        "RBF kernel measured 90.2 % at 399 rows, "
        "expected 90.5 % (89.5 % to 91.5 %) with all rows, 96.6 % at 3,200 rows; guessing has 50.0 %; "
        "rows needed to reach 90.0 %: 360 (290 to no upper limit); also drawn: linear model; random forest."
    )
    assert "linear model measured 51.2 % at 20 rows" not in told["all-curves"], "the last size, not the first"
    assert "random forest measured" in told["all-curves"]
    assert "RBF kernel predicted 0.212, measured 0.234 at 80 rows" in told["theory"]
    assert (
        "linear model: largest eigenvalue 90.0, the first 10 eigenvectors contain 70 % of the target" in told["spectra"]
    )
    assert "width 64, largest difference between network and kernel 0.250; width 1,024," in told["training-0"]


def test_the_words_of_a_regression_and_of_noise(tmp_path, undrawn):
    told = Page(page_of(measured(), tmp_path)).specs["residuals"]["spec"]["description"]
    assert "for 2 held-out rows. The differences range from −40.0 to 2.25, with median −18.9" in told
    told = Page(page_of(noise(), tmp_path)).specs["curves"]["spec"]["description"]
    assert "no model is better than guessing, 30.0" in told


def test_what_stands_unfolded_answers(text):
    shown = Page(text).unfolded
    for part in (
        "The columns predict the target (permutation test, p = 0.005).",
        "Reaching accuracy 90.0 % takes about 360 rows (290 to no upper limit) with RBF kernel; there are 400.",
        "90.5 % (89.5 % to 91.5 %)",
        "360 (290 to no upper limit)",
        "column id looks like an identifier",
        "The time limit was reached before these models: softmax network.",
        "Guessing has 50.0 %",
    ):
        assert part in shown
    assert "Bousquet" not in shown


def test_figures_claims_and_sources_of_the_record_are_shown(text):
    words = Page(text).words
    for part in (
        "100 500 91.5 % (90.6 % to 92.3 %) 200",
        "12,345",
        "stated 12.3, measured 0.0456",
        "ratio 271",
        "1.20 × 10⁻¹⁷",
        "cannot be checked",
        "12 duplicate rows make the smallest eigenvalue zero",
        "Bousquet and Elisseeff (2002), Theorem 12",
        "lemmata study flowers.csv --error 'accuracy 0.9'",
        "ten rows without a target left out",
        "red, blue, white",
        "rose tulip 2 of 2",
        "Stability and generalization",
        "∞ (singular)",
        "1 of 2 apply",
    ):
        assert part in words
    set_ = [value for tag, name, value in Page(text).attributes if (tag, name) == ("math", "alttext")]
    assert "2 beta + sqrt(log(1/delta) / (2 n))" in set_
    assert "exp(-|x - y|²)" in set_, "the formula of a kernel"
    assert "With probability 1−δ the gap is at most" in words


def test_a_note_is_said_once(tmp_path, undrawn):
    finding = Finding("identifier", ("id",), "column id looks like an identifier")
    record = classified(findings=[finding, finding])
    assert Page(page_of(record, tmp_path)).words.count("column id looks like an identifier") == 1


def test_hostile_strings_add_no_element_and_no_attribute(text, hostile):
    # A formula with a payload is none, so it stays text; all other elements are the same.
    plain = [tag for tag in Page(text).tags if tag not in MATHML]
    assert plain != Page(text).tags
    assert [tag for tag in Page(hostile).tags if tag not in MATHML] == plain
    assert not [name for _, name, _ in Page(hostile).attributes if name.startswith("on")]
    assert "alert(1)" not in "".join(block for block in Page(hostile).texts["script"] if not block.startswith("{"))


def test_hostile_strings_in_the_words_of_a_picture_are_escaped(hostile):
    words = labels(Page(hostile))[1]
    assert "<script>alert(1)</script>" in words[0]
    assert "\u202e" not in words[0]


def test_hostile_strings_are_shown_as_text_with_controls_made_visible(hostile):
    shown = Page(hostile).words
    for name in (
        "flowers.csv",
        "kind",
        "height",
        "red, blue, white",
        "rose",
        "column id looks like an identifier",
        "RBF kernel",
    ):
        assert name + "\"'><script>alert(1)</script><!-- {{ 7 * 7 }}␀␇␛[31m⟨U+2028⟩⟨U+202E⟩⟨U+D800⟩</style>" in shown
    assert not [c for c in hostile if c in "\x00\x07\x1b\u2028\u202e"]


def test_a_hostile_name_inside_the_specifications_cannot_end_the_script(hostile):
    start = hostile.index('<script type="application/json" id="specs">')
    block = hostile[start + 10 : hostile.index("</script", start)]
    block = block[block.index(">") + 1 :]
    assert not set("<>&") & set(block)
    assert "<script>alert(1)</script>" in json.dumps(json.loads(block))


def test_noise_begins_with_the_words_and_gives_no_number_of_rows(tmp_path):
    page = Page(page_of(noise(), tmp_path))
    words = page.words[page.words.index("120 rows") :]
    assert words.index("Nothing here predicts the target.") < words.index("On 120 rows, others do as well in 43%")
    assert "rows for" not in page.words
    assert "What more rows bring" not in page.words
    rows = page.specs["curves"]["spec"]["data"]["values"]
    assert max(row["n"] for row in rows) <= 120, "no curve beyond the data where nothing is predicted"


def test_a_value_out_of_reach(tmp_path):
    page = Page(page_of(measured(), tmp_path))
    assert page.unfolded.count("out of reach") == 4, "three models, and what it means: 5,000 is more than 8 times 120"
    assert "−" in page.words, "a row was predicted too high"
    assert set(page.specs) == {"curves", "all-curves", "theory", "spectra", "residuals"}


def test_an_empty_record_still_makes_a_page(tmp_path):
    page = Page(page_of(empty(), tmp_path))
    assert "The study stopped before it could answer." in page.words
    assert "was interrupted" in page.words
    assert page.specs == {}


@pytest.mark.parametrize("lost", ["residuals", "claims", "training", "bibliography", "findings", "models"])
def test_a_missing_part_is_left_out(tmp_path, undrawn, lost):
    page = Page(page_of(classified(**{lost: []}), tmp_path))
    assert page.tags.count("h1") == 1
    assert len(page.ids) == len(set(page.ids))


def test_claims_may_lack_fields(tmp_path, undrawn):
    page = Page(page_of(classified(claims=[{"name": "a.b"}, {"name": "a.b", "status": "failed"}]), tmp_path))
    assert [anchor for anchor in page.ids if anchor.startswith("claim")] == ["claim-a-b", "claim-a-b-x"]


def test_models_without_points_or_theory(tmp_path):
    bare = [dataclasses.replace(model, points=[], theory=[], spectrum=None) for model in measured().models]
    assert set(Page(page_of(measured(models=bare, residuals=[]), tmp_path)).specs) == {"curves", "all-curves"}


def test_a_failed_write_leaves_the_old_page(tmp_path, undrawn, monkeypatch):
    (tmp_path / "index.html").write_text("old")
    monkeypatch.setattr("os.fsync", lambda file: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(DataError, match="cannot be written"):
        write_page(tmp_path, measured())
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("index.html", "old")]


def test_the_fragment_for_a_notebook_has_answers_and_no_script():
    text = page_text(spoiled(classified()))
    page = Page(text)
    assert "script" not in page.tags
    assert "html" not in page.tags
    assert "svg" in page.tags
    assert "Reaching accuracy 90.0 % takes about 360 rows" in page.words


def test_names_in_a_wider_font_are_not_cut():
    page = Page(page_text(classified()))
    assert ("svg", "overflow", "visible") in page.attributes
    width = next(float(value) for tag, name, value in page.attributes if (tag, name) == ("svg", "width"))
    assert width >= 680, "room beside the names"


def test_the_name_of_a_unit_is_never_changed(tmp_path, undrawn):
    words = Page(page_of(measured(), tmp_path)).words
    assert "rmse: root mean square error" in words
    assert "Rmse" not in words


def test_where_another_model_needs_fewer_rows_its_curve_is_drawn_strong_as_well(tmp_path):
    record = classified()
    both = dataclasses.replace(record.answers, first="forest")
    strong = lambda record: json.dumps(Page(page_of(record, tmp_path)).specs["curves"]["spec"])
    assert '"oneOf": ["RBF kernel", "random forest"]' in strong(dataclasses.replace(record, answers=both))
    assert '"oneOf": ["RBF kernel"]' in strong(record)


def test_the_asked_value_stands_on_the_page_in_all_of_its_digits(tmp_path, undrawn):
    record = classified()
    precise = dataclasses.replace(record.answers, asked=0.99999)
    page = Page(page_of(dataclasses.replace(record, answers=precise), tmp_path))
    assert "rows for accuracy 99.999 %" in page.words


def test_the_script_that_is_shipped_is_that_of_the_converter():
    made = runpy.run_path(str(pathlib.Path(__file__).parents[3] / "docs" / "vega.py"))["script"]()
    named = re.compile(r"vl-convert-python (\S+)\.\n")
    shipped, installed = named.search(bundle())[1], named.search(made)[1]
    if shipped != installed:
        pytest.skip(f"vl-convert-python {installed} is installed, and the script is of {shipped}")
    assert bundle() == made
    assert "</script" not in bundle()


def test_a_limited_process_says_what_a_picture_shows(tmp_path, monkeypatch):
    """The converter would end the process: the page is there without its picture, and its script draws it."""
    monkeypatch.setattr(_vega, "_is_limited", lambda: True)
    monkeypatch.setattr(_vega.sys, "executable", "/bin/false")
    _vega._draws_apart.cache_clear()
    page = Page(page_of(measured(), tmp_path))
    assert "This picture was not drawn, because the memory of the process was limited. It shows: " in page.words
    assert {"curves", "all-curves"} <= set(page.specs)
    assert "This picture was not drawn" in page_text(measured())
    _vega._draws_apart.cache_clear()


def test_a_limited_process_lets_another_one_draw(monkeypatch):
    spec = {"mark": "point", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a"}}}
    expected = _vega.svg_text(spec)
    monkeypatch.setattr(_vega, "_is_limited", lambda: True)
    _vega._draws_apart.cache_clear()
    assert _vega.svg_text(spec) == expected
    assert expected.startswith("<svg")
