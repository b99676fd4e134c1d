"""A page taken apart."""

import json
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "link", "input", "hr", "rect", "path"}
BLOCKS = {"td", "th", "p", "li", "h1", "h2", "h3", "div", "summary"}


class Page(HTMLParser):
    """Tags in order, attributes, and the text of each element of a kind."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self._open = [], [], {}, []
        self._shown, self._unfolded = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        if "svg" not in self._open:
            self.tags.append(tag)
        if tag not in VOID:
            self._open.append(tag)
        if tag in BLOCKS:
            self.handle_data(" ")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data):
        place = self._open[-1] if self._open else None
        self.texts.setdefault(place, []).append(data)
        if place not in ("script", "style"):
            self._shown.append(data)
            if "details" not in self._open:
                self._unfolded.append(data)

    @property
    def words(self):
        """All that a reader sees, blanks collapsed."""
        return " ".join("".join(self._shown).split())

    @property
    def unfolded(self):
        """All that a reader sees before unfolding anything."""
        return " ".join("".join(self._unfolded).split())

    @property
    def ids(self):
        return [value for _, name, value in self.attributes if name == "id"]

    @property
    def specs(self):
        found = [block for block in self.texts.get("script", []) if block.startswith('{"')]
        return json.loads(found[0]) if found else {}
