"""A reader of losses that users state: in a form that the text `GRAMMAR` lists, or as a loss object of PyTorch."""

from typing import Any

from lemmata.errors import SettingError

from ._losses import GRAMMAR, StatedLoss, read_loss

_MODULE = "torch.nn.modules.loss"
_PLAIN = {
    "reduction": "mean",
    "weight": None,
    "pos_weight": None,
    "ignore_index": -100,
    "full": False,
    "log_input": True,
}
"""The attributes of losses that must have these default values, because `GRAMMAR` cannot state other values."""


def stated_loss(loss: Any, name: str = "loss") -> StatedLoss | None:
    """Return the loss that the user stated: in a form that `GRAMMAR` lists, or as an object of PyTorch.

    The objects that can be read are `CrossEntropyLoss` (also with smoothed labels), `NLLLoss`, `BCEWithLogitsLoss`,
    `BCELoss`, `HuberLoss` and `PoissonNLLLoss`. Such an object must take the mean over rows and have no weights.
    `MSELoss` is twice the squared loss of `GRAMMAR`, so `MSELoss` raises an error. The message gives the right text.

    Args:
        loss: the loss as the user wrote it, or None if it is not stated.
        name: the place of the statement, for error messages.

    Raises:
        SettingError: if the loss is stated in any other form.
    """
    kind = type(loss).__name__
    if not any(cls.__module__ == _MODULE for cls in type(loss).__mro__):
        try:
            return read_loss(loss)
        except SettingError as error:
            if name == "loss" or error.what != "loss":
                raise
            remedy = error.remedy or f"write one of these texts; if {name.split()[0]!r} is not the loss, rename it"
            raise SettingError(name, found=error.found, rule=error.rule, remedy=remedy) from error
    other = [f"{own}={getattr(loss, own)!r}"[:60] for own, usual in _PLAIN.items() if _differs(loss, own, usual)]
    if kind in ("CrossEntropyLoss", "NLLLoss", "BCEWithLogitsLoss", "BCELoss") and not other:
        return StatedLoss("log", smoothing=float(getattr(loss, "label_smoothing", 0.0)))
    if kind == "HuberLoss" and not other:
        return StatedLoss("huber", width=float(loss.delta))
    if kind == "PoissonNLLLoss" and not other:
        return StatedLoss("poisson")
    remedy = "state the loss as one of these texts"
    if kind == "MSELoss":
        remedy = (
            'write loss = "squared", which lemmata defines as half of the squared distance. If you state the decay, '
            "divide it by 2 as well"
        )
    raise SettingError(name, found=f"{kind}({', '.join(other)})", rule=GRAMMAR, remedy=remedy)


def _differs(loss: Any, name: str, usual: Any) -> bool:
    own = getattr(loss, name, usual)
    return own is not None if usual is None else own != usual
