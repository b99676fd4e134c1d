"""The page is whole, escapes what the user named, and copes with a record of any size."""

import json
from html.parser import HTMLParser

import pytest

from lemmata.report import write_report
from lemmata.report._charts import samples_needed
from lemmata.report._page import SECTIONS
from tests.report.example import example_study

PAYLOAD = "\"'><script>alert(1)</script><!-- {{ 7 * 7 }}\x00\x07\x1b[31m\u2028\u202e\ud800</style>"
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Tags in order, attributes, and the text of each element of a kind."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self._open = [], [], {}, []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if "svg" not in self._open:
            self.tags.append(tag)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self._open[-1] if self._open else None, []).append(data)


def page_of(study, directory):
    return write_report(study, directory).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return page_of(example_study(), tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    def spoil(value):
        if isinstance(value, str):
            return value and value + PAYLOAD
        if isinstance(value, dict):
            return {key: spoil(item) for key, item in value.items()}
        return [spoil(item) for item in value] if isinstance(value, list) else value

    study = spoil(example_study())
    study["data"]["task"] = "classification"
    return page_of(study, tmp_path_factory.mktemp("hostile"))


def test_the_page_needs_no_other_file_and_no_network(text):
    page = Page(text)
    fetching = [(tag, name, value) for tag, name, value in page.attributes if name in ("src", "href", "data", "action")]
    assert fetching
    assert all(value.startswith("#") for _, _, value in fetching)
    assert "link" not in page.tags
    assert "@import" not in text
    assert len(text) < 3_000_000


def test_every_link_inside_the_page_has_its_target(text):
    attributes = Page(text).attributes
    places = [value for _, name, value in attributes if name == "id"]
    for target in {value[1:] for _, name, value in attributes if name == "href"}:
        assert places.count(target) == 1


def test_each_picture_is_there_as_svg_and_as_specification(text):
    page = Page(text)
    specs = json.loads(next(block for block in page.texts["script"] if block.startswith('{"learning_curves"')))
    assert set(specs) == {"learning_curves", "overview", "samples_needed", "spectra", "training-0", "training-1"}
    assert page.tags.count("svg") == len(specs)
    assert text.count("window.vegaEmbed=") == 1


def test_figures_claims_and_sources_of_the_record_are_shown(text):
    words = " ".join(" ".join("".join(block).split()) for blocks in Page(text).texts.values() for block in blocks)
    for part in (
        "ReLU network, depth 3 needs about 230 rows",
        "12.3",
        "0.0456",
        "271",
        "1.20 × 10⁻¹⁷",
        "cannot be checked",
        "12 duplicate rows make the smallest eigenvalue zero",
        "Bousquet and Elisseeff (2002), Theorem 12",
        "lemmata study digits --error 0.1 --seed 0",
        "dropped 3 constant columns",
        "3 and 17",
        "99.0 %",
        "The eigenlearning framework",
        "The time limit left no room",
    ):
        assert part in words


def test_hostile_strings_add_no_element_and_no_attribute(text, hostile):
    assert Page(hostile).tags == Page(text).tags
    kinds = {(tag, name) for tag, name, _ in Page(hostile).attributes}
    assert not [name for _, name in kinds if name.startswith("on")]
    assert "alert(1)" not in "".join(block for block in Page(hostile).texts["script"] if not block.startswith("{"))


def test_hostile_strings_are_shown_as_text_with_controls_made_visible(hostile):
    shown = "".join("".join(blocks) for tag, blocks in Page(hostile).texts.items() if tag not in ("script", "style"))
    assert "<script>alert(1)</script><!-- {{ 7 * 7 }}␀␇␛[31m⟨U+2028⟩⟨U+202E⟩⟨U+D800⟩</style>" in shown
    assert not [c for c in hostile if c in "\x00\x07\x1b\u2028\u202e"]


def test_a_hostile_name_inside_the_specifications_cannot_end_the_script(hostile):
    start = hostile.index('<script type="application/json" id="specs">')
    block = hostile[start + 10 : hostile.index("</script", start)]
    block = block[block.index(">") + 1 :]
    assert not set("<>&") & set(block)
    assert "<script>alert(1)</script>" in json.dumps(json.loads(block))


def test_a_column_called_like_a_script(tmp_path):
    study = {
        "data": {"name": "t.csv", "features": ["<script>alert(1)</script>\x08"], "target": "<b>", "classes": ["</td>"]}
    }
    text = page_of(study, tmp_path)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;␈" in text


def without_drawing(monkeypatch):
    monkeypatch.setattr("vl_convert.vegalite_to_svg", lambda spec, vl_version: "<svg></svg>")
    monkeypatch.setattr("lemmata.report._page._bundle", lambda: "")


@pytest.mark.parametrize("lost", SECTIONS)
@pytest.mark.parametrize("kind", ["absent", "null"])
def test_a_missing_section_is_left_out(tmp_path, monkeypatch, lost, kind):
    without_drawing(monkeypatch)
    study = example_study()
    if kind == "absent":
        del study[lost]
    else:
        study[lost] = None
    page = Page(page_of(study, tmp_path))
    assert page.tags.count("h1") == 1
    anchors = [value for _, name, value in page.attributes if name == "id"]
    assert all(value[1:] in anchors for _, name, value in page.attributes if name == "href")


def test_fields_inside_the_sections_may_be_missing(tmp_path, monkeypatch):
    without_drawing(monkeypatch)

    def thin(value, keep):
        if isinstance(value, dict):
            return {key: thin(item, keep) for j, (key, item) in enumerate(value.items()) if key in keep or j % 2}
        return [thin(item, keep) for item in value] if isinstance(value, list) else value

    for keep in ({"n", "width", "architectures"}, {"n", "width", "architectures", "curve", "samples", "spectrum"}):
        Page(page_of(thin(example_study(), keep), tmp_path))


def test_numbers_that_no_logarithm_can_show(tmp_path):
    study = example_study()
    architecture = study["architectures"][0]
    architecture["curve"][0] |= {"predicted": 0.0, "measured": -1e-17, "lower": None, "upper": float("nan")}
    architecture["spectrum"]["eigenvalues"][-1] = 0.0
    architecture["spectrum"]["eigenvalues"][-2] = -1e-18
    study["architectures"] = [architecture]
    study["training"] = []
    assert "NaN" not in json.dumps(Page(page_of(study, tmp_path)).texts["td"])


def cells(text, title):
    """The cells of the row of the table of claims that begins with this title."""
    row = text[text.index(f">{title}</a>") :].split("</tr>")[0]
    return [" ".join(cell.split("</td>")[0].split(">", 1)[1].split()) for cell in row.split("<td")[1:]]


@pytest.mark.parametrize(
    ("relation", "shown", "kept"),
    [
        ("measured <= predicted", "0.500", True),
        ("measured ~ C n^predicted along n = 10, 20, 40", "stated −0.500, measured −1.00", False),
        ("measured <= C n^predicted along n = 10, 20, 40", "stated −0.500, measured −1.00", False),
        ("measured is ordered as predicted along n = 10, 20", "–", False),
        ("measured -> predicted along n = 10, 20, within 0.1", "0.500", True),
    ],
)
def test_only_sizes_are_compared_by_their_ratio(tmp_path, monkeypatch, relation, shown, kept):
    without_drawing(monkeypatch)
    claim = {"title": "T", "status": "applies", "relation": relation, "prediction": -0.5, "measurement": -1.0}
    text = page_of({"claims": [claim | {"ratio": 0.5, "agrees": True}]}, tmp_path)
    assert cells(text, "T")[3] == shown
    assert cells(text, "T")[2] == "yes"
    assert ("<dt>Ratio</dt>" in text) == kept
    assert ("<dt>Measured exponent</dt>" in text) == shown.startswith("stated")


def test_what_does_not_apply_does_not_agree(tmp_path, monkeypatch):
    without_drawing(monkeypatch)
    for agrees in (True, False):
        claim = {"title": "T", "status": "inapplicable", "prediction": 1.0, "measurement": 2.0, "agrees": agrees}
        text = page_of({"claims": [claim]}, tmp_path)
        assert cells(text, "T")[2] == "–"
        assert "<dt>Agrees</dt><dd>–</dd>" in text


def test_an_interval_without_an_upper_end_is_drawn_to_the_edge_with_an_arrow():
    study = example_study()
    assert "triangle-right" not in json.dumps(samples_needed(study))
    study["architectures"][0]["samples"]["theory"]["upper"] = None
    spec = samples_needed(study)
    assert spec is not None
    rows = spec["layer"][0]["data"]["values"]
    edge = spec["layer"][0]["encoding"]["x"]["scale"]["domain"][1]
    open_ended = [row for row in rows if row["upper"] is None]
    assert [row["end"] for row in open_ended] == [edge]
    assert all(row["end"] == row["upper"] for row in rows if row["upper"] is not None)
    arrow = next(layer for layer in spec["layer"] if layer["mark"].get("shape") == "triangle-right")
    assert arrow["transform"] == [{"filter": "datum.upper === null"}]
    assert arrow["encoding"]["x"]["field"] == "end"


@pytest.mark.parametrize("value", [None, float("inf")])
def test_a_singular_matrix_has_an_infinite_condition_number(tmp_path, monkeypatch, value):
    without_drawing(monkeypatch)
    study = example_study()
    study["architectures"] = study["architectures"][:1]
    study["architectures"][0]["spectrum"] |= {"condition": value, "rank": 1796}
    assert "∞ (singular)" in page_of(study, tmp_path)
    study["architectures"][0]["spectrum"]["rank"] = 1797
    assert "∞" not in page_of(study, tmp_path)


def test_an_error_is_told_in_the_units_of_the_target(tmp_path, monkeypatch):
    without_drawing(monkeypatch)
    study = example_study()
    study["data"] |= {"task": "regression", "outputs": 1, "target": "price", "y_scale": [30.0], "y_mean": [2.0]}
    words = " ".join(page_of(study, tmp_path).split())
    assert "a root mean squared error of 9.49 in the units of &#39;price&#39;: √0.1 × 30." in words
    study["data"] |= {"outputs": 2, "y_scale": [30.0, 1.0]}
    assert "root mean squared error" not in page_of(study, tmp_path)


def test_an_empty_record_still_makes_a_page(tmp_path):
    page = Page(page_of({}, tmp_path))
    assert "svg" not in page.tags
    assert "script" not in page.tags
