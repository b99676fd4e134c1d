"""Write a program that fits the same model again from the same file, without lemmata."""

import inspect
import re
from typing import Any

import numpy as np
import polars as pl

from lemmata.options import StudyOptions

from ._calendar import YEAR
from ._columns import stripped
from ._data import Dataset
from ._dates import as_written, zone_of
from ._encoder import FOLDS
from ._final_columns import CODES, NOT_AVAILABLE, NOT_TEXTS, Kinds, date_columns, mark_of, marks_of
from ._final_table import PANDAS_MISSING, Raw
from ._numbers import GAPPED, NEGATIVE, signed, without_unit
from ._unnamed import UNNAMED

_WIDTH = 110
_PLACES = {
    "ColumnTransformer": "sklearn.compose", "TransformedTargetRegressor": "sklearn.compose",
    "SimpleImputer": "sklearn.impute", "make_pipeline": "sklearn.pipeline", "KFold": "sklearn.model_selection",
    "GroupKFold": "sklearn.model_selection",
    "FunctionTransformer": "sklearn.preprocessing",
    "StandardScaler": "sklearn.preprocessing", "OneHotEncoder": "sklearn.preprocessing",
    "TargetEncoder": "sklearn.preprocessing", "MinMaxScaler": "sklearn.preprocessing",
    "HistGradientBoostingRegressor": "sklearn.ensemble", "HistGradientBoostingClassifier": "sklearn.ensemble",
    "RandomForestRegressor": "sklearn.ensemble", "RandomForestClassifier": "sklearn.ensemble",
    "Ridge": "sklearn.linear_model", "RidgeClassifier": "sklearn.linear_model", "Lasso": "sklearn.linear_model",
    "ElasticNet": "sklearn.linear_model", "LogisticRegression": "sklearn.linear_model",
    "PoissonRegressor": "sklearn.linear_model", "GammaRegressor": "sklearn.linear_model",
    "KNeighborsRegressor": "sklearn.neighbors", "KNeighborsClassifier": "sklearn.neighbors",
    "OneVsRestClassifier": "sklearn.multiclass", "SVR": "sklearn.svm", "SVC": "sklearn.svm",
    "Nystroem": "sklearn.kernel_approximation", "Matern": "sklearn.gaussian_process.kernels",
    "NetworkKernel": "lemmata.estimators",
}  # fmt: skip
"""The module from which each name is imported."""


def program(raw: Raw, kinds: Kinds, dataset: Dataset, options: StudyOptions, model: Any, texts: bool) -> str:
    """Return the program, about ten lines for a plain table. The program imports lemmata only for kernels of networks.

    Args:
        raw: the table in the user's own form.
        kinds: the kinds of the columns of the table.
        dataset: the dataset of the study.
        options: the options of the study.
        model: the fitted model.
        texts: whether the model predicts texts.
    """
    several = [own for own in getattr(model, "estimators_", []) if hasattr(own, "steps")]
    pipelines = several if several and not hasattr(model, "steps") else [model]
    columns = dict(pipelines[0].steps)["columns"]
    body = [*_read(raw, kinds, dataset, options), *_rows(raw, kinds, dataset, options)]
    lists, groups = [], []
    for name, parts, names in columns.transformers:
        if name != "means":
            lists.append(_assigned(name, names))
        steps = ", ".join(_written(step) for step in parts.named_steps.values() if not _is_for_polars(step))
        groups.append(f'    ("{name}", make_pipeline({steps}), {"many" if name == "means" else name}),')
    body += [*lists, "columns = ColumnTransformer([", *groups, "])"]
    x = (
        "x"
        if raw.positional
        else f"table[{' + '.join(name for name, _, _ in columns.transformers if name != 'means')}]"
    )
    fractions = texts and raw.cells[dataset.target].dtype.is_float()
    body += _fit(pipelines, x, dataset, raw, ".map('{:g}'.format)" if fractions else "")
    text = "\n".join(body)
    if dataset.groups is not None and len(np.unique(dataset.groups)) >= FOLDS:  # the folds of the fitted model
        folds = f"cv=list(GroupKFold({FOLDS}).split(table, groups=table[{str(options.group)!r}]))"
        text = re.sub(r"cv=KFold\([^)]*\)", folds, text)
    return "\n".join([*_imports(text), "", text]) + "\n"


def _imports(text: str) -> list[str]:
    found: dict[str, list[str]] = {}
    for name, place in _PLACES.items():
        if re.search(rf"\b{name}\(", text):
            found.setdefault(place, []).append(name)
    modules = ("bz2", "gzip", "lzma", "numpy", "pandas", "polars", "zipfile")
    whole = [name for name in modules if re.search(rf"\b{name}\.[A-Za-z]", text)]
    sets = re.findall(r"\bload_\w+(?=\()", text)
    lines = [f"import {name}" for name in whole]
    lines += [f"from sklearn.datasets import {name}" for name in dict.fromkeys(sets)]
    return lines + [f"from {place} import {', '.join(sorted(names))}" for place, names in sorted(found.items())]


def _names(raw: Raw) -> str:
    """Return the line that gives a table the names of the study, which has no blank names."""
    name, each = "str(name).strip()", "name in table.columns"
    if any(map(UNNAMED.fullmatch, raw.cells.columns)):
        name, each = f'{name} or f"column {{j}} (unnamed)"', "j, name in enumerate(table.columns, 1)"
    return f"table.columns = [{name} for {each}]"


def _read(raw: Raw, kinds: Kinds, dataset: Dataset, options: StudyOptions) -> list[str]:
    """Return the lines that read the table."""
    how, own = raw.reading
    if how == "bundled":
        lines = [f"bunch = load_{raw.source}(as_frame=True)", "table = bunch.data"]
        target = "bunch.target" if dataset.classes is None else "bunch.target_names[bunch.target].astype(str)"
        return [*lines, f"table[{dataset.target!r}] = {target}"]
    if how == "arrays":
        return ["# x and y: your arrays", *(["x = x.toarray()"] if raw.sparse else [])]
    mark = mark_of(raw.cells, options.decimal)
    names = [] if raw.named else [_names(raw)]
    names += [f"table = table.rename(columns={raw.renamed!r})"] if raw.renamed else []
    polars = how.startswith("polars") or isinstance(raw.frame, pl.DataFrame)
    as_pandas = ["table = pandas.DataFrame(table.to_dict(as_series=False))" if polars else "table = table.copy()"]
    as_pandas = [*as_pandas, *names] if kinds.plain is not None else []
    if how == "numpy.load":
        return [*_arrays(raw), *_plain(raw, kinds, dataset, mark)]
    if how == "memory" or not how:
        lines = [f"# table: your data frame, with {dataset.target!r} in it", *as_pandas]
        return [*lines, *(_without_footnotes(raw, dataset) if as_pandas else []), *_plain(raw, kinds, dataset, mark)]
    given = dict(own)
    if how == "pandas.read_csv" and mark == ",":
        given |= {"decimal": ","} | ({"thousands": "."} if _has_thousands(raw, dataset) else {})
        given |= {"dtype": texts} if (texts := dict.fromkeys(_other_marks(kinds, dataset, mark), "str")) else {}
    given |= _missing(raw)
    key = given.pop("key", None)
    words = "".join(f", {name}={value!r}" for name, value in given.items())
    lines = [f"table = {how}({raw.source}{words})"]
    if key is not None:
        lines = [f'table = pandas.DataFrame({how}({raw.source}, typ="series"{words})[{key!r}])']
    lines += as_pandas if how.startswith("polars") else names
    lines += _without_footnotes(raw, dataset) if as_pandas or not how.startswith("polars") else []
    return lines + _plain(raw, kinds, dataset, mark)


def _without_footnotes(raw: Raw, dataset: Dataset) -> list[str]:
    """Write the lines that leave out lines of text below the table."""
    if raw.below is None:
        return []
    lines = [f"table = table.dropna(subset=[{dataset.target!r}])  # leaves out the text below the table"]
    odd = f"table[{dataset.target!r}].isin({list(raw.below)!r})"
    return [*lines, *([f"table = table[~{odd}]"] if raw.below else [])]


def _missing(raw: Raw) -> dict[str, Any]:
    """Return the arguments with which pandas reads the study's missing cells as missing, and no others."""
    if raw.reading[0] not in ("pandas.read_csv", "pandas.read_excel"):
        return {}
    found = sorted({mark for marks in raw.marks.values() for mark in marks})
    if raw.missing or raw.kept:
        return {"keep_default_na": False, "na_values": list(dict.fromkeys(["", *raw.missing, *found]))}
    odd = [mark for mark in found if mark not in PANDAS_MISSING]
    return {"na_values": odd} if odd else {}


def _arrays(raw: Raw) -> list[str]:
    """Return the lines that read the arrays of an NPZ file into a table. Each column of a matrix gives one column."""
    return [
        f"arrays, cells = numpy.load({raw.source}), {{}}",
        f"for name in {raw.reading[1]['names']!r}:",
        "    columns = arrays[name].reshape(len(arrays[name]), -1).T",
        "    columns = numpy.char.decode(columns) if columns.dtype.kind == 'S' else columns",
        '    cells |= {name if len(columns) == 1 else f"{name}[{j}]": own for j, own in enumerate(columns)}',
        "table = pandas.DataFrame(cells)",
    ]


def _has_thousands(raw: Raw, dataset: Dataset) -> bool:
    """Whether numbers have points between thousands, and other cells of digits, such as dates, have no points."""
    texts = [raw.cells[name] for name in [*dataset.raw_features, dataset.target] if name in raw.cells.columns]
    texts = [cells.drop_nulls() for cells in texts if cells.dtype == pl.String]
    numbers = r"^\s*[+-]?\d{1,3}(\.\d{3})+(,\d*)?\s*$"
    others = r"^\s*[\d.]*\.[\d.]*\s*$"
    some = any(bool(cells.str.contains(numbers).any()) for cells in texts)
    dotted = [cells.filter(cells.str.contains(others) & ~cells.str.contains(numbers)) for cells in texts]
    return some and not any(len(own) for own in dotted)


def _plain(raw: Raw, kinds: Kinds, dataset: Dataset, mark: str) -> list[str]:
    """Return the lines that convert texts and dates to numbers."""
    plain = kinds.plain or {}
    lines: list[str] = []
    words = [name for name, reason in kinds.why.items() if reason == "numbers among texts"]
    words += [name for name in [dataset.target] if dataset.classes is None and name in raw.cells.columns
              and raw.cells[name].dtype == pl.String]  # fmt: skip
    marks = _other_marks(kinds, dataset, mark)
    for own in (mark, "," if mark == "." else "."):
        names = [name for name in words if name not in marks] if own == mark else list(marks)
        lines += _numbers(names, raw, dataset, own) if names else []
    blanks = [name for name, reason in kinds.why.items() if reason == "texts with blanks around them"]
    if blanks:
        lines += [f"for name in {blanks!r}:", "    table[name] = table[name].str.strip()"]
    objects = [name for name, reason in kinds.why.items() if reason in (CODES, NOT_AVAILABLE, NOT_TEXTS)]
    if objects:
        texts = [name for name in objects if name in (*kinds.texts, *kinds.many)]
        change = f"cells.map(str, na_action='ignore') if name in {texts!r} else cells.astype(float)"
        lines += [f"for name in {objects!r}:",
                  "    cells = table[name].astype(object).where(table[name].notna(), float('nan'))",
                  f"    table[name] = {change}"]  # fmt: skip
    infinite = [name for name, reason in kinds.why.items() if reason == "infinite numbers"]
    if infinite:
        lines.append(f"table = table.replace([float('inf'), float('-inf')], float('nan'))  # in {', '.join(infinite)}")
    for name, parts in plain.get("dates", {}).items():
        lines += _date(name, parts, plain["formats"].get(name), raw.cells[name])
    return lines


def _other_marks(kinds: Kinds, dataset: Dataset, mark: str) -> dict[str, str]:
    """Return the decimal marks of the columns of numbers, including the target, whose mark differs from the table's."""
    names = [*kinds.numbers, *kinds.spikes, *([dataset.target] if dataset.classes is None else [])]
    return marks_of(dataset, [name for name in names if name not in (kinds.plain or {}).get("dates", {})], mark)


def _numbers(names: list[str], raw: Raw, dataset: Dataset, mark: str) -> list[str]:
    """Return the lines that convert texts with this decimal mark to numbers."""
    lines: list[str] = []
    read = dataset.given.table.frame
    cells = {
        name: stripped((raw.cells if raw.cells[name].dtype == pl.String else read)[name].cast(pl.String))
        for name in names
    }
    units = {name: own for name in names if (own := without_unit(signed(cells[name]))[1])}
    if units:
        lines += [f"for name, unit in {units!r}.items():",
                  '    table[name] = table[name].str.replace(unit, "", regex=False).str.strip()']  # fmt: skip
    other = "," if mark == "." else "."
    gaps = any(own.str.contains(GAPPED).any() for own in cells.values())
    negative = any(own.str.contains(NEGATIVE).any() for own in cells.values())
    minus = f'.str.replace(r"{NEGATIVE}", r"-\\1", regex=True)' if negative else ""
    digits = f"table[name].astype(str){minus}.str.replace("
    digits += f'r"[{other}\\s\'’]", "", regex=True)' if gaps else f'{other!r}, "")'
    digits += '.str.replace(",", ".")' if mark == "," else ""
    text = f'pandas.to_numeric({digits}, errors="coerce")'
    if mark == ",":
        text = f"table[name] if table[name].dtype.kind in 'if' else {text}"
    return [*lines, f"for name in {names!r}:", f"    table[name] = {text}"]


def _date(name: str, parts: list[str], form: str | None, cells: pl.Series) -> list[str]:
    if form in ("%H:%M", "%H:%M:%S"):
        tail = ' + ":00"' if form == "%H:%M" else ""
        return [f"table[{name!r}] = pandas.to_timedelta(table[{name!r}]{tail}) / pandas.Timedelta(days=1)"]
    if form in ("quarter", "week"):
        return [*_period(name, form), *_days_and_parts(name, parts)]
    how = "" if form is None else f", format={as_written(form, str(stripped(cells).drop_nulls()[0]))!r}"
    if (zone := zone_of(cells))[:1] in ("+", "-"):
        return [*_local(name, zone.split("/")), *_days_and_parts(name, parts)]
    local = ".dt.tz_localize(None)" if zone else ""
    how += ", utc=True" if local and cells.dtype == pl.String else ""
    lines = [f"dates = pandas.to_datetime(table[{name!r}]{how}){local}"]
    if local and cells.dtype == pl.String and cells.str.contains("(UTC|GMT)").any():
        own = f'table[{name!r}].str.replace(r"\\s*(UTC|GMT)", "Z", regex=True)'
        lines = [f'dates = pandas.to_datetime({own}, format="ISO8601", utc=True){local}']
    return lines + _days_and_parts(name, parts)


def _local(name: str, offsets: list[str]) -> list[str]:
    """Write the line that reads times with offsets from universal time as local times."""
    if len(offsets) == 1:
        found = f'pandas.to_datetime(table[{name!r}], format="ISO8601", utc=True).dt.tz_localize(None)'
        return [f"dates = {found} + pandas.Timedelta({offsets[0].removeprefix('+') + ':00'!r})"]
    own = (
        f'table[{name!r}].astype(str).str.replace(r"(:\\d\\d)\\s*(Z|UTC|GMT|[+-]\\d\\d:?\\d\\d)$", r"\\1", regex=True)'
    )
    return [f"times = {own}", 'dates = pandas.to_datetime(times, format="ISO8601")']


def _period(name: str, form: str) -> list[str]:
    """Write the lines that read quarters or ISO weeks."""
    if form == "week":
        return [
            f'found = table[{name!r}].str.extract(r"(\\d{{4}})[- ]?[Ww](\\d{{1,2}})")',
            'dates = pandas.to_datetime(found[0] + "-W" + found[1].str.zfill(2) + "-1", format="%G-W%V-%u")',
        ]
    return [
        f'year = table[{name!r}].str.extract(r"(\\d{{4}})")[0]',
        f'month = table[{name!r}].str.extract("[Qq]([1-4])")[0].map({{"1": "1", "2": "4", "3": "7", "4": "10"}})',
        'dates = pandas.to_datetime(year + "-" + month + "-1", format="%Y-%m-%d")',
    ]


def _days_and_parts(name: str, parts: list[str]) -> list[str]:
    """Write the lines that turn dates into days and the parts of the date."""
    lines = [f'days = table[{name!r}] = (dates - pandas.Timestamp("1970-01-01")) / pandas.Timedelta(days=1)']
    names = iter(date_columns(name, parts))
    for part in parts:
        if part == "weekday":
            own = [next(names) for _ in range(7)]
            lines += [f"for day, name in enumerate({own!r}):", "    table[name] = (dates.dt.day_of_week == day) * 1.0"]
        else:
            period = f"{YEAR} * 2 * numpy.pi" if part == "year" else "1.0 * 2 * numpy.pi"
            for wave in ("sin", "cos"):
                lines.append(f"table[{next(names)!r}] = numpy.{wave}(days / {period}).fillna(0)")
    return lines


def _rows(raw: Raw, kinds: Kinds, dataset: Dataset, options: StudyOptions) -> list[str]:
    """Return the lines that leave out the rows that the study does not use."""
    rows = dataset.given.rows
    if raw.positional or len(rows) == raw.cells.height:
        return []
    if len(dataset.targets) < dataset.available:
        return [f"# the model was fitted to {len(rows):,} of these rows, drawn at random"]
    names = [name for name in raw.cells.columns if name == dataset.target or name.startswith(f"{dataset.target}[")]
    if options.drop_missing:
        names = list(dict.fromkeys([*dataset.given.names, *filter(None, (options.group, options.time)), *names]))
    polars = raw.reading[0].startswith("polars") or (raw.reading[0] == "memory" and isinstance(raw.frame, pl.DataFrame))
    drop = "drop_nulls" if polars and kinds.plain is None else "dropna"
    lines = [f"table = table.{drop}(subset={names!r})"]
    if dataset.classes is not None:
        left = raw.cells[dataset.target].gather(np.setdiff1d(np.arange(raw.cells.height), rows)).drop_nulls()
        odd = sorted({str(value) for value in left.unique().to_list()} - {str(name) for name in dataset.classes})
        pick = "isin" if drop == "dropna" else "is_in"
        own = f"table[{dataset.target!r}].{pick}({odd!r})"
        lines += [f"table = table[~{own}]" if drop == "dropna" else f"table = table.filter(~{own})"] if odd else []
    return lines


def _assigned(name: str, items: Any) -> str:
    """Return the source text that assigns a list to `name`, on as many lines as needed."""
    line = f"{name} = {list(items)!r}"
    if len(line) <= _WIDTH:
        return line
    lines, row = [], "   "
    for item in items:
        if len(row) + len(repr(item)) + 2 > _WIDTH:
            lines.append(row)
            row = "   "
        row += f" {item!r},"
    return "\n".join([f"{name} = [", *lines, row, "]"])


def _written(value: Any) -> str:
    """Return the source text of an estimator, with the settings that differ from scikit-learn's defaults.

    `repr` is not used for kernels, because it rounds their settings.
    """
    if getattr(value, "__name__", None) is not None:  # a function
        return f"{value.__module__.partition('.')[0]}.{value.__name__}"
    if not hasattr(value, "get_params"):
        return "float('nan')" if isinstance(value, float) and value != value else repr(value)
    usual = inspect.signature(type(value)).parameters
    settings = value.get_params(deep=False).items()
    told = [f"{name}={_written(own)}" for name, own in settings if repr(own) != repr(usual[name].default)]
    return f"{type(value).__name__}({', '.join(told)})"


def _is_for_polars(step: Any) -> bool:
    """Whether a step fills in missing texts in a form that only a polars table has: None, or a word like NA."""
    return hasattr(step, "missing_values") and (step.missing_values is None or isinstance(step.missing_values, str))


def _fit(pipelines: list[Any], x: str, dataset: Dataset, raw: Raw, labels: str) -> list[str]:
    last = []
    for own in pipelines:
        steps = [step for name, step in own.steps if name in ("kernel", "model")]
        last.append(", ".join(_written(step) for step in steps))
    y = "y" if raw.positional else f"table[{dataset.target!r}]{labels}"
    if len(pipelines) == 1:
        k = 1 if dataset.classes is not None else dataset.targets.shape[1]
        if k > 1 and not raw.positional:
            y = f"table[{[f'{dataset.target}[{j}]' for j in range(k)]!r}]"
        made = f"model = make_pipeline(columns, {last[0]})"
        if len(made) > _WIDTH:
            made = f"model = make_pipeline(\n    columns,\n    {last[0]},\n)"
        return [made, f"model.fit({x}, {y})"]
    lines = ["models = [", *(f"    make_pipeline(columns, {own})," for own in last), "]  # one for each target"]
    each = "y[:, j]" if raw.positional else f'table[f"{dataset.target}[{{j}}]"]'
    return [*lines, "for j, model in enumerate(models):", f"    model.fit({x}, {each})"]
