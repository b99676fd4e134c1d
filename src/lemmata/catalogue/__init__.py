"""Floor 0: the catalogue as files, readable without JAX: claims, last verdicts, what they are about, their tags."""

from ._classification import FACETS as FACETS
from ._classification import PROBLEMS as PROBLEMS
from ._classification import classification as classification
from ._classification import sections as sections
from ._counts import PRINTED as PRINTED
from ._counts import counts as counts
from ._counts import told_counts as told_counts
from ._fingerprint import fingerprint as fingerprint
from ._read import PATH as PATH
from ._read import catalogue as catalogue
from ._read import entries as entries
from ._read import write as write
from ._rows import NOT_JUDGED as NOT_JUDGED
from ._rows import TIGHTNESS as TIGHTNESS
from ._rows import described as described
from ._rows import rows as rows
from ._rows import tightness as tightness
from ._tags import extended as extended
from ._tags import give_tags as give_tags
from ._tags import tag_of as tag_of
from ._tags import tags as tags
from ._tightness import is_loose as is_loose
from ._tightness import searched as searched
from ._tightness import searches as searches
from ._tightness import told_search as told_search
from ._tightness import write_searches as write_searches
