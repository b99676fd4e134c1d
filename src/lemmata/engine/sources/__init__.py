"""The statements of the sources (books and papers), and the claims that test these statements."""

from lemmata.signatures import shows_public as _shows_public

from ._statements import REFERENCES as REFERENCES
from ._statements import REPRODUCED as REPRODUCED
from ._statements import VERDICTS as VERDICTS
from ._statements import Judged as Judged
from ._statements import Problem as Problem
from ._statements import Reference as Reference
from ._statements import Reproduction as Reproduction
from ._statements import Statement as Statement
from ._statements import chapters as chapters
from ._statements import judged as judged
from ._statements import problems as problems
from ._statements import read_words as read_words
from ._statements import references as references
from ._statements import reproductions as reproductions
from ._statements import sources as sources
from ._statements import statements as statements
from ._statements import tables as tables
from ._statements import unstated as unstated

_shows_public(__name__)
