"""Run tasks, each with a key, in this process, in processes that share the cores, or on workers of Dask.

A task is a function of a module, with arguments that can be sent to another process. The function must be pure (without
side effects), because another worker runs the task again if a worker is lost.
"""

from lemmata.signatures import shows_public as _shows_public

from ._cluster import scheduler_address as scheduler_address
from ._cluster import workers as workers
from ._processes import ATTEMPTS as ATTEMPTS
from ._processes import Processes as Processes
from ._processes import end_with_parent as end_with_parent
from ._processes import share_cores as share_cores
from ._tasks import Lost as Lost
from ._tasks import finished as finished
from ._tasks import submitted as submitted

_shows_public(__name__)
