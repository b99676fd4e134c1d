"""Read stored records from unknown sources: parse strict JSON, and build values of declared types. JAX is not needed.

A record is a dataclass (or a `TypedDict`), and its annotations are the schema. For example, `Annotated[float,
Numbers(low=0)]` is a number that is not negative. The first fault of a file is reported in one line, with the file, the
field's path, the value, the rule and the remedy.
"""

from lemmata.signatures import shows_public as _shows_public

from ._files import MOST_BYTES as MOST_BYTES
from ._files import read_bytes as read_bytes
from ._files import sealed as sealed
from ._files import unsealed as unsealed
from ._json import DEEPEST as DEEPEST
from ._json import parsed as parsed
from ._json import plain as plain
from ._schema import LARGEST as LARGEST
from ._schema import As as As
from ._schema import Count as Count
from ._schema import Finite as Finite
from ._schema import NotNegative as NotNegative
from ._schema import Numbers as Numbers
from ._schema import Positive as Positive
from ._schema import Share as Share
from ._schema import built as built
from ._schema import fields_of as fields_of
from ._told import Told as Told
from ._told import refusing as refusing
from ._told import spelled_way as spelled_way

_shows_public(__name__)
