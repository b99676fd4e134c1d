"""Words of a source that a claim refutes, given by their place in the source's text, and their possible readings."""

import dataclasses
import hashlib
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Passage:
    """A passage of a source, given by its place and a digest of its words. The words are not copied.

    Args:
        file: the name of the file of the source's text.
        first: the place of the first character, counted from 0.
        after: the place after the last character.
        digest: the digest of the words (`digest_of`).
        says: the meaning of the words, in terms that their author would accept.
        right_if: the hypothesis, the constant or the meaning under which the words would be right.
        formula: the printed formula, if there is one.
    """

    file: str
    first: int
    after: int
    digest: str
    says: str
    right_if: str
    formula: str = ""

    def found_in(self, folder: Path) -> bool:
        """Whether the words occur at their place in the source's text.

        Args:
            folder: the folder of the texts of sources.
        """
        text = (folder / self.file).read_text(encoding="utf-8")
        return digest_of(text[self.first : self.after]) == self.digest


@dataclasses.dataclass(frozen=True)
class Reading:
    """One way in which the words of a source may be read.

    Args:
        words: the reading, in words.
        verdict: the verdict on the statement in this reading: "refuted", "supported", "vacuous", "ill-typed".
        claim: the name of the claim that tests this reading; empty if it is the claim that lists the reading.
    """

    words: str
    verdict: str
    claim: str = ""


def digest_of(words: str) -> str:
    r"""The first sixteen hexadecimal digits of the SHA-256 of words, which are first joined by single blanks.

    >>> digest_of("n rows") == digest_of(" n\n  rows")
    True
    """
    return hashlib.sha256(" ".join(words.split()).encode()).hexdigest()[:16]
