"""Find the held-out rows that the best model predicts worst."""

from lemmata.workflows.records.studies import Residual

from ._data import Dataset
from ._measure import fitted, spread_of
from ._metrics import Metric
from ._models import Model
from ._plan import planned, width_of
from ._row_losses import absolute, brier
from ._scorers import Scored
from ._splits import split

AFFORDABLE = 5.0
"""The most seconds for the fit whose residuals are shown. If the largest size costs more, a smaller size is used."""
MOST_SHOWN = 1000


def residuals(model: Model, dataset: Dataset, unit: Metric, seed: int) -> list[Residual]:
    """Return at most 1,000 held-out rows of one split at the largest affordable size, the largest loss first."""
    total, outputs = len(dataset.targets), dataset.targets.shape[1]
    sizes = [n for n, _ in planned(model, dataset)]
    cheap = [n for n in sizes if model.price(n, width_of(dataset), outputs) <= AFFORDABLE] or sizes[:1]
    train, test = split(total, cheap[-1], 0, seed, dataset.groups, dataset.order)
    test = test[:MOST_SHOWN]
    fit = fitted(model, dataset, train, test)
    said = fit.chances if fit.chances is not None else fit.outputs
    # A score that is computed from all rows together has no loss for a single row.
    single = (absolute if dataset.classes is None else brier) if isinstance(unit.rows, Scored) else unit.rows
    rows = single(dataset.targets[test], said, spread_of(dataset))
    if dataset.classes is None:
        told = [(float(a), float(b)) for a, b in zip(dataset.targets[test].sum(1), fit.outputs.sum(1), strict=True)]
    else:
        classes = dataset.classes
        named = lambda table: [classes[i] for i in table.argmax(axis=1)]
        told = list(zip(named(dataset.targets[test]), named(fit.outputs), strict=True))
    found = [
        Residual(int(dataset.index[row]), truth, guess, float(loss))
        for row, (truth, guess), loss in zip(test, told, rows, strict=True)
    ]
    return sorted(found, key=lambda item: -item.loss)
