"""The search for counterexamples to a claim, among problems that satisfy its hypotheses."""

from lemmata.signatures import shows_public as _shows_public

from ._ablation import Needed as Needed
from ._ablation import ablate as ablate
from ._found import Counterexample as Counterexample
from ._found import Searched as Searched
from ._found import Survived as Survived
from ._found import Untested as Untested
from ._found import load_counterexample as load_counterexample
from ._search import refute as refute
from ._spread import searches as searches
from ._tightness import Tightness as Tightness
from ._tightness import from_neighbour as from_neighbour
from ._tightness import has_tightness as has_tightness
from ._tightness import measure_tightness as measure_tightness

_shows_public(__name__)
