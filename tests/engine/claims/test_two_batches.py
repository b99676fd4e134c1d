"""Two batches of linear systems in one compiled program do not wait for each other, from Python as from a command."""

import os
import subprocess
import sys

FIFTY = """
import jax
jax.config.update("jax_enable_x64", True)
from lemmata.engine.claims import find, run_trials
claim = find("regression.odd_even.effective_kernel")[0]
setting = claim.population.settings().resolve(None)
print(sum(len(run_trials(claim, setting, 128, seed).numbers) for seed in range(50)))
"""


def test_a_program_with_two_batches_of_systems_ends_fifty_times_from_python():
    """Without the compiler's option the first or the second run never ended on two cores."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    given = {"env": environment, "timeout": 600, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-c", FIFTY], **given)
    assert done.stdout.split() == [str(50 * 128)], done.stderr
