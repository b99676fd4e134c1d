"""Describe the checks that are skipped if only a model's outputs are known, and the loss that the other checks use."""

from lemmata.subjects.trained_models import Trained, is_known, loss_words, objective_of, rows_left_out


def seen_by_outputs(trained: Trained) -> list[str]:
    """Return a sentence that names the checks that are skipped for a model without derivatives; empty for others."""
    if trained.model.differentiable:
        return []
    classes = trained.task.is_classification
    asked = ["the error that training rows alone predict", "how each training row affects the model"]
    asked += ["which training labels are wrong", "attacks by gradients"] if classes else []
    asked += ["how well an attacker recognises training rows by their loss", "the curvature of the loss"]
    told = f"{', '.join(asked[:-1])} and {asked[-1]}"
    return [
        f"lemmata sees the outputs of this {trained.model.kind}, but not its derivatives. It therefore does not "
        f"examine these questions: {told}."
    ]


def loss_told(trained: Trained) -> str:
    """Return the training loss and how it is known, in words. If only outputs are known, no loss is needed."""
    if trained.model.differentiable or not isinstance(trained.task.loss, str):
        return trained.task.loss_told
    return "none is needed, because lemmata sees only the outputs"


def loss_read(trained: Trained) -> list[str]:
    """Return a sentence on the training loss that theories assume, unless it is the usual loss for these targets."""
    task = trained.task
    if not trained.model.differentiable or task.is_language:
        return []
    if not task.loss_known:
        return [
            f"This model was trained with {loss_words(task.loss)}. lemmata does not know its derivatives, so it skips "
            "every check that needs the objective of the training."
        ]
    asked = is_known(objective_of, trained) and not is_known(rows_left_out, trained)
    if asked and trained.decay is None and objective_of(trained).decay == 0:
        return [
            (
                f"With {task.loss_told}, the weights imply no decay. There are three possible reasons: "
                "there was no decay, training ended early, or the loss was different. State class "
                "weights and smoothed labels with --loss, or loss= in Python."
            )
        ]
    if isinstance(task.loss, str) and not task.why.startswith("as one output"):
        return []
    return [f"Loss: {task.loss_told}. State another loss with --loss, or loss= in Python."]
