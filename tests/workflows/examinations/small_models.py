"""Small models for the tests of examinations."""

import jax.numpy as jnp

from lemmata.subjects.trained_models import Objective, polish, read_model, read_task
from tests.interfaces.cli import model_files

TRAIN, HELD = model_files.rows()
SPOKE = ("agrees", "disagrees")
LEFT_OUT, STEP = "held_out_error_from_training_rows", "largest_stable_step"


def linear_model():
    """Softmax regression at the minimum of its objective."""
    model = lambda own, x: x @ own["w"] + own["b"]
    start = model, {"w": jnp.zeros((4, 3)), "b": jnp.zeros(3)}
    task = read_task(read_model(start), *TRAIN)
    found = polish(Objective(read_model(start), TRAIN[0], task.encode(TRAIN[1]), task, 0.02), tolerance=1e-7).model
    return model, {name: jnp.asarray(part) for name, part in found.split(found.theta).items()}


def statuses(record):
    return {own.name.split(".")[-1]: own.status for own in record.gauges}
