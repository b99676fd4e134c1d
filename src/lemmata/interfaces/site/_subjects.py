"""One page for each subject: its topic, a figure of its verdicts, its tools, and its sections with their claims."""

import collections
import functools
import re
from typing import Any

import altair as alt
from markupsafe import Markup

from lemmata.interfaces.report import COLOURS, INK, svg_of, themed

from ._code import module_words, section_file
from ._documents import documents
from ._folds import fitting
from ._pages import claim_address, counted, page
from ._pictures import in_ink
from ._prose import docstring, first_sentence, sentence

_STATUSES = {
    "supported": COLOURS[2], "refuted": COLOURS[7], "vacuous": COLOURS[5], "outside": COLOURS[4],
    "fails outside": COLOURS[8],
    "inconclusive": COLOURS[0], "inapplicable": COLOURS[6], "failed": COLOURS[3], "not judged": COLOURS[9],
}  # fmt: skip


def subject_pages(known: list[dict[str, Any]], addresses: dict[str, str]) -> dict[str, str]:
    """The pages of all subjects and their first page.

    Args:
        known: the rows of the catalogue.
        addresses: the addresses of pages by the names that docstrings use.
    """
    link = lambda name: None if addresses.get(name) is None else f"../{addresses[name]}"
    pages, cards = {}, []
    for subject in dict.fromkeys(row["subject"] for row in known):
        own = [row for row in known if row["subject"] == subject]
        words = module_words(f"subjects/{subject}/__init__.py")
        title = subject.replace("_", " ").capitalize()
        tools = collections.Counter(row["tool"] for row in own if row["tool"]).most_common()
        said = _told(own)
        pages[f"subjects/{subject}.html"] = fitting(functools.partial(
            page, "subject.html", f"subjects/{subject}.html", "subjects/index.html", title,
            words=docstring(words, link), figure=Markup(_figure(own, said)), tools=tools,
            architectures=collections.Counter(row["architecture"] for row in own if row["architecture"]).most_common(),
            sections=_sections(own, link), claims=len(own), picture=_picture(subject),
        ))  # fmt: skip
        cards.append((subject, title, sentence(first_sentence(words), link), said))
    pages["subjects/index.html"] = page(
        "subjects.html", "subjects/index.html", "subjects/index.html", "Subjects", cards=cards
    )
    return pages


def _sections(own: list[dict[str, Any]], link: Any) -> list[dict[str, Any]]:
    """Each section with its docstring and its claims."""
    found = []
    for place in dict.fromkeys(row["place"] for row in own):
        name = place.rpartition(".")[2]
        words = module_words(section_file(place)) or next(row["section"] for row in own if row["place"] == place)
        first, _, rest = words.partition("\n\n")
        claims = [{**row, "href": f"../{claim_address(row)}"} for row in own if row["place"] == place]
        found.append(
            {
                "name": name, "title": name.replace("_", " ").capitalize(), "first": sentence(first, link),
                "words": docstring(rest, link), "claims": claims,
            }
        )  # fmt: skip
    return found


def _picture(subject: str) -> tuple[str, str] | None:
    """The documentation's picture of a subject, `pictures/SUBJECT.svg`, and its description; None if it is missing."""
    for document in documents():
        shown = re.search(rf"!\[([^\]]+)\]\(pictures/{subject}\.svg\)", document.text)
        if shown:
            return f"../docs/pictures/{subject}.svg", shown[1]
    return None


def _told(own: list[dict[str, Any]]) -> str:
    """Say how many claims there are and how many have each verdict."""
    statuses = collections.Counter(row["status"] for row in own)
    return f"{counted(len(own), 'claim')}: " + ", ".join(f"{number} {word}" for word, number in statuses.most_common())


def _figure(own: list[dict[str, Any]], said: str) -> str:
    """Draw a chart with one bar for each section. The bar shows how many claims of the section have each verdict."""
    places = [place.rpartition(".")[2].replace("_", " ") for place in dict.fromkeys(row["place"] for row in own)]
    counter = collections.Counter((row["place"].rpartition(".")[2].replace("_", " "), row["status"]) for row in own)
    rows = [{"section": place, "verdict": status, "claims": count} for (place, status), count in counter.items()]
    shown = [status for status in _STATUSES if any(row["verdict"] == status for row in rows)]
    scale = alt.Scale(domain=shown, range=[_STATUSES[status] for status in shown])
    legend = alt.Legend(title=None, orient="top", columns=2)
    top = max(sum(row["claims"] for row in rows if row["section"] == place) for place in places)
    axis = alt.Axis(title="claims", format="d", values=list(range(0, top + 1, 1 if top < 8 else 2)))
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(height={"band": 0.7})
        .encode(
            x=alt.X("claims:Q", axis=axis),
            y=alt.Y("section:N", sort=places, title=None, axis=alt.Axis(labelLimit=230, labelColor=INK)),
            color=alt.Color("verdict:N", scale=scale, legend=legend),
            order=alt.Order("verdict:N"),
        )
        .properties(width=180, height=18 * len(places))
    )
    spec = themed(chart)
    spec["config"]["padding"] = {"left": 40, "right": 12, "top": 4, "bottom": 4}  # labels may be wider than measured
    return in_ink(str(svg_of(spec, f"Claims of each section by verdict. {said}.", "figure")))
