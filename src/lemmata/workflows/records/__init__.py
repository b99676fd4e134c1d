"""The results of studies, comparisons and examinations, as frozen dataclasses that are read without JAX."""

from ._kinds import kind_of as kind_of
from ._stored import StoredRecord as StoredRecord
from ._words import ASKED as ASKED
from ._words import FARTHEST as FARTHEST
from ._words import HORIZON as HORIZON
from ._words import rows as rows
from ._words import spell as spell
from ._words import spell_asked as spell_asked
