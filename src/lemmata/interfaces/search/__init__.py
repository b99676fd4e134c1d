"""The search of the command line and the site, which finds claims, pages and public names by words."""

from ._ask import Found as Found
from ._ask import ask as ask
from ._ask import ask_all as ask_all
from ._claims import claim_shelf as claim_shelf
from ._shelf import Item as Item
from ._shelf import Shelf as Shelf
from ._shelf import shelf as shelf
from ._terms import terms as terms
from ._written import written as written
