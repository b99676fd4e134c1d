"""Floor 0: the catalogue as a file: what every registered claim says and its last verdict, readable without JAX."""

from ._fingerprint import fingerprint as fingerprint
from ._read import PATH as PATH
from ._read import catalogue as catalogue
from ._read import entries as entries
from ._read import write as write
