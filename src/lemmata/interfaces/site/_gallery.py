"""The gallery: programs by task, each with its picture, its output, and a notebook to download."""

import functools
import json
import re
from typing import Any, NamedTuple

from markupsafe import Markup

from ._documents import GALLERY, documents, folder, page_groups, words_of
from ._markdown import anchor, listing
from ._pages import page

_TASK = re.compile(r"^## (.+)$", re.M)
_ENTRY = re.compile(r"^### \[(\w+)\.py\]\(\w+\.py\): ([^\n]+)\n\n(.*?)\n\n!\[([^\]]*)\]", re.M | re.S)


class Example(NamedTuple):
    """A program of the gallery.

    Args:
        name: the name of its file, without the ending.
        title: a title that says what the program does.
        words: a paragraph about the program, as Markdown.
        alt: the description of its picture.
        code: the source text of the program.
        printed: the text that it prints.
        picture: the SVG that the program draws.
    """

    name: str
    title: str
    words: str
    alt: str
    code: str
    printed: str
    picture: str

    @property
    def address(self) -> str:
        """The address of the program's page."""
        return f"docs/examples/{self.name}.html"

    @property
    def notebook(self) -> str:
        """The program as a notebook that has been run, in Jupyter's format 4."""
        told = [f"# {self.title}", "", self.words]
        outputs: list[dict[str, Any]] = [
            {"output_type": "stream", "name": "stdout", "text": self.printed},
            {"output_type": "display_data", "data": {"image/svg+xml": self.picture}, "metadata": {}},
        ]
        shown = f'{self.code.rstrip()}\n\nfrom IPython.display import SVG\n\nSVG("{self.name}.svg")\n'
        cells = [
            {"cell_type": "markdown", "metadata": {}, "source": "\n".join(told)},
            {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": shown, "outputs": outputs},
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        found = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}
        return json.dumps(found, ensure_ascii=False, indent=1) + "\n"


@functools.cache
def gallery() -> dict[str, tuple[Example, ...]]:
    """The programs of each task, in the order of the page that lists them."""
    place = folder()
    known = next((document for document in documents() if document.name == GALLERY), None)
    if place is None or known is None:
        return {}
    found, parts = {}, _TASK.split(known.text)[1:]
    for task, text in zip(parts[::2], parts[1::2], strict=True):
        read = lambda name, ending: (place / "examples" / f"{name}.{ending}").read_text(encoding="utf-8")
        found[task] = tuple(
            Example(
                name, title[:1].upper() + title[1:], words, alt, read(name, "py"), read(name, "txt"), read(name, "svg")
            )
            for name, title, words, alt in _ENTRY.findall(text)
        )
    return found


def gallery_pages(addresses: dict[str, str]) -> dict[str, str | bytes]:
    """The page of all programs. Each program also has its own page, its file, its picture and its notebook.

    Args:
        addresses: the addresses of pages by the names that stand in backticks.
    """
    document = next((document for document in documents() if document.name == GALLERY), None)
    if document is None:
        return {}
    told = {"groups": page_groups(), "here": document}
    tasks = [(anchor(task), task, own) for task, own in gallery().items()]
    lead = words_of(document, document.sections[0].text, document.address, addresses)
    pages: dict[str, str | bytes] = {
        document.address: page("gallery.html", document.address, "docs/index.html", document.title,
                               about=document.lead, body=lead, tasks=tasks, **told),
    }  # fmt: skip
    for own in (example for _, _, examples in tasks for example in examples):
        pages[own.address] = page(
            "example.html", own.address, "docs/index.html", own.title, about=own.words, example=own,
            body=words_of(document, own.words, own.address, addresses), code=listing(own.code, "python"),
            printed=Markup('<pre class="output" tabindex="0"><code>{}</code></pre>').format(own.printed), **told,
        )  # fmt: skip
        texts = {"py": own.code, "svg": own.picture, "ipynb": own.notebook}
        pages |= {f"docs/examples/{own.name}.{ending}": text for ending, text in texts.items()}
    return pages
