"""Floor 9: the catalogue and the documentation as a static site, from files alone: no claim is run for it."""

from ._build import write_site as write_site
from ._counts import counts as counts
from ._counts import told_counts as told_counts
from ._serve import serve as serve
