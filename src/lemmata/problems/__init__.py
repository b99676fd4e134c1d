"""Floor 2: what claims speak about. A problem is an immutable pytree; a user's data become one too."""

from ._regression import Regression as Regression
