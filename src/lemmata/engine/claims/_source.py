"""The place of a claim's statement in the literature, and the bibliography."""

import dataclasses
import functools
import importlib.resources
import re
from collections.abc import Iterable

from pybtex.database import Entry, parse_string
from pybtex.richtext import Text

from lemmata.errors import ClaimError, LemmataError, words_of

from ._kind import Kind, kind_of


@dataclasses.dataclass(frozen=True, init=False)
class Source:
    """The place in the literature that states a claim.

    Args:
        key: BibTeX key, in lemmata's `references.bib` or in `entry`.
        locators: numbers of the statements, exactly as they are in the work: "Theorem 4.2", "Lemma B.1, part 3",
            "(41)".
        note: a remark on the locators, such as "as printed", "corrected", "the order in the width" or "proof of Lemma
            3".
        entry: the BibTeX entry itself, for claims that live outside lemmata.

    >>> source = Source("gu2024softmax", "Lemma 5.1", "Lemma B.2, part 2", note="with a better constant")
    >>> source.locator, source.kind.value
    ('Lemma 5.1 and Lemma B.2, part 2, with a better constant', 'lemma')
    """

    key: str
    locators: tuple[str, ...]
    note: str
    entry: str | None

    def __init__(self, key: str, *locators: str, note: str = "", entry: str | None = None) -> None:
        for name, value in (("key", key), ("locators", locators), ("note", note), ("entry", entry)):
            object.__setattr__(self, name, value)

    @property
    def locator(self) -> str:
        """The place in the work as text: the locators and the note."""
        *first, last = self.locators or ("",)
        return ", ".join(
            part for part in (" and ".join((", ".join(first), last)) if first else last, self.note) if part
        )

    @property
    def kind(self) -> Kind | None:
        """The kind that the first locator shows; a step if the note begins with "proof of"; None if it is unclear."""
        if self.note.startswith("proof of"):
            return Kind.STEP
        return kind_of(self.locators[0]) if self.locators else None

    def states(self, locator: str) -> bool:
        """Whether a locator names a statement of this source, or a larger part that contains it. Case does not matter.

        >>> source = Source("gu2024softmax", "Lemma B.1, part 3", "(58a)")
        >>> [source.states(place) for place in ("lemma b.1", "Lemma B.1, part 3", "(58)", "Lemma B.1, part 1")]
        [True, True, True, False]
        """
        wanted = locator.strip().lower()
        for known in (known.lower() for known in self.locators):
            if wanted in (known, re.sub(r"[a-z]\)$", ")", known)) or known.startswith(f"{wanted},"):
                return bool(wanted)
        return False

    @property
    def reference(self) -> Entry:
        """The bibliography entry. Raise ClaimError if no bibliography has the key."""
        entries = parse_string(self.entry, "bibtex").entries if self.entry else bibliography()
        if self.key not in entries and self.entry:
            found = " and ".join(map(repr, entries))
            raise ClaimError(
                f"source '{self.key}'",
                found=f"a BibTeX entry with the key {found}" if found else "text that is not a BibTeX entry",
                rule="one BibTeX entry with this key",
                remedy=f'pass Source("{self.key}", ..., entry="@article{{{self.key}, author={{A. Name}}, ...}}")',
            )
        if self.key not in entries:
            raise ClaimError(
                f"source '{self.key}'",
                found="no entry with this key in references.bib",
                rule="an entry of references.bib, or a BibTeX entry in the claim",
                remedy=f'add @article{{{self.key}, ...}} to references.bib, or pass Source(..., entry="@article...")',
            )
        return entries[self.key]

    @property
    def text(self) -> str:
        """The whole reference as one line of plain text. Raise ClaimError if the claim's own BibTeX cannot be read."""
        try:
            return format_reference(self.reference)
        except LemmataError:
            raise
        except Exception as error:  # pybtex raises errors of several classes
            raise ClaimError(
                f"source '{self.key}'",
                found=f"BibTeX that cannot be read: {words_of(error, 120) or type(error).__name__}",
                rule="one BibTeX entry with balanced braces, and a comma between its fields",
                remedy='pass Source(..., entry="@article{key, author={A. Name}, title={Title}, year={2020}}")',
            ) from error

    def __str__(self) -> str:
        names = [_text(" ".join(person.last_names)) for person in (self.reference.persons or {}).get("author", [])]
        who = (
            names[0]
            if len(names) == 1
            else " and ".join(names)
            if len(names) == 2
            else f"{names[0]} et al."
            if names
            else ""
        )
        fields = self.reference.fields or {}
        return f"{who or _text(fields.get('title', self.key))} ({fields.get('year', 'n.d.')}), {self.locator}"


@functools.cache
def bibliography() -> dict[str, Entry]:
    """The entries of lemmata's references.bib by key, parsed."""
    text = importlib.resources.files("lemmata.engine.claims").joinpath("references.bib").read_text(encoding="utf-8")
    return dict(parse_string(text, "bibtex").entries)


@functools.cache
def written_entries() -> dict[str, str]:
    """The unparsed texts of the entries of references.bib, by key."""
    text = importlib.resources.files("lemmata.engine.claims").joinpath("references.bib").read_text(encoding="utf-8")
    parts = re.split(r"^(?=@)", text, flags=re.M)
    return {found[1]: part.strip() for part in parts if (found := re.match(r"@\w+\{([^,\s]+),", part))}


def format_reference(entry: Entry) -> str:
    """Authors, year, title, venue and pages of a BibTeX entry as one line of plain text."""
    names = [
        " ".join(
            [
                *(f"{name[0]}." for name in (*person.first_names, *person.middle_names)),
                *person.prelast_names,
                *person.last_names,
            ]
        )
        for person in (entry.persons or {}).get("author", [])
    ]
    names = [_text(name) for name in names]
    who = ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1] if names else "Anonymous"
    fields = {name: _text(value) for name, value in (entry.fields or {}).items()}
    venue = next((fields[name] for name in ("journal", "booktitle", "publisher", "howpublished") if name in fields), "")
    numbers = fields.get("volume", "") + (f"({fields['number']})" if "number" in fields else "")
    details = ", ".join(part for part in (f"{venue} {numbers}".strip(), fields.get("pages", "")) if part)
    return f"{who} ({fields.get('year', 'n.d.')}). {fields.get('title', 'Untitled')}. {details}".rstrip(". ") + "."


@functools.cache
def _text(latex: str) -> str:
    """The text with LaTeX accents and dashes as plain characters, and without braces."""
    return str(Text.from_latex(latex)).replace("\N{EN DASH}", "-")


def cite(*objects: object | Iterable[object]) -> list[str]:
    """The formatted references of the given claims, sources or verdicts, sorted and without repetitions.

    An object without a source contributes nothing.

    >>> from lemmata.engine.claims import Source, cite
    >>> cite(Source("hoeffding1963", "Theorem 2"))[0][:19]
    'W. Hoeffding (1963)'
    """
    found = set()
    for item in objects:
        if isinstance(item, (list, tuple, set)):
            found.update(cite(*item))
            continue
        source = item if isinstance(item, Source) else getattr(item, "source", None)
        if isinstance(source, Source):
            found.add(source.text)
    return sorted(found)
