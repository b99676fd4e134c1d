"""The catalogue and the documentation as a static site, made from files without running any claim."""

from ._build import own_files as own_files
from ._build import write_site as write_site
from ._published import Published as Published
from ._serve import serve as serve
