"""Floor 2: what claims speak about. A problem is an immutable pytree; a user's data become one too."""

from ._duplicates import duplicate_rows as duplicate_rows
from ._regression import Regression as Regression
