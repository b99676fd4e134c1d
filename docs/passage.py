"""The place of words in a source's text, as a claim's `passage` takes it: `passage.py TEXT "first words" "last words"`.

Blanks and line breaks count as one blank each. Without last words the first ones are all.
"""

import re
import sys
from pathlib import Path

from lemmata.engine.claims import digest_of


def places(text: str, words: str) -> list[tuple[int, int]]:
    """Where words stand in a text, whatever blanks are between them."""
    pattern = r"\s+".join(re.escape(word) for word in words.split())
    return [match.span() for match in re.finditer(pattern, text)]


def main(path: Path, first: str, last: str = "") -> int:
    """Print the arguments of the passage; 1 where the words stand nowhere, or the first ones several times."""
    text = path.read_text(encoding="utf-8")
    starts = places(text, first)
    if len(starts) != 1:
        print(f"the first words stand in {len(starts)} places: {starts[:9]}")
        return 1
    begin, end = starts[0]
    ends = [after for before, after in places(text, last) if before >= begin] if last else [end]
    if not ends:
        print("the last words do not stand behind the first ones")
        return 1
    print(f'Passage("{path.name}", {begin}, {ends[0]}, "{digest_of(text[begin : ends[0]])}", says="", right_if="")')
    print(text[begin : ends[0]])
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), *sys.argv[2:4]))
