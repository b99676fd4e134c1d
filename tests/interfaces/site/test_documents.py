"""The documentation as pages: links and anchors lead somewhere, long pages are parted, formulas and code are set."""

import posixpath
import re

import pytest

from lemmata.interfaces.site._documents import Document, document_pages, documents
from lemmata.interfaces.site._gallery import gallery_pages
from lemmata.interfaces.site._markdown import rendered


@pytest.fixture(scope="module")
def pages():
    return {**document_pages({}), **gallery_pages({})}


def test_every_link_of_the_documentation_leads_somewhere(pages):
    anchors = {at: set(re.findall(r'id="([^"]+)"', page)) for at, page in pages.items() if at.endswith(".html")}
    looked, dead = 0, []
    for at in anchors:
        for link in re.findall(r'(?:href|src)="([^"]+)"', pages[at]):
            path, _, place = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(at), path)) if path else at
            if re.match("[a-z]+:", link) or not target.startswith("docs/"):
                continue
            looked += 1
            if target not in pages or (place and place not in anchors.get(target, {place})):
                dead.append((at, link))
    assert looked > 3000
    assert not dead


def test_a_long_page_has_a_page_for_each_section(pages):
    (papers,) = [document for document in documents() if document.name == "papers"]
    assert papers.in_parts
    own = [papers.address_of(section.anchor) for section in papers.sections[1:]]
    assert len(own) > 15
    assert set(own) <= set(pages)
    short = Document("short", "Short", "# Short\n\nWords.\n\n## One\n\nMore.\n\n## Two\n\nMore.\n")
    assert not short.in_parts
    assert short.address_of("two") == "docs/short.html#two"


def test_formulas_code_and_outputs_are_set():
    text = "At most `x` and x_i² here.\n\n```python\nprint(1)\n```\n\nThis prints:\n\n```\n1 < 2\n```\n"
    found = rendered(text, lambda name: None, lambda target: target)
    assert "<code>x</code> and <math" in found
    assert '<pre class="code" tabindex="0"><code><span class="nb">print</span>' in found
    assert found.count("<pre") == found.count("</pre>") == 2, "a listing stands in no other"
    assert '<pre class="output" tabindex="0"><code>1 &lt; 2' in found
