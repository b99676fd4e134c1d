"""`lemmata report`: write the page of a record again, or one page with two records side by side."""

from pathlib import Path
from typing import Annotated

import typer

from lemmata.errors import SettingError
from lemmata.files import keep_inputs
from lemmata.workflows.records import comparisons, kind_of, studies


def report(
    records: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "One study.json, compare.json or model.json file; or, to compare two files, two study.json or two "
                "model.json files."
            )
        ),
    ],
    directory: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write index.html into this directory.")
    ] = Path("report"),
) -> None:
    """Write the page of a study, a comparison or an examined model again, or compare two records on one page.

    The command reads study.json of `lemmata study`, compare.json of `lemmata compare`, or model.json of `lemmata
    model`. It computes nothing again, and the page opens offline. Give two studies or two models to see them side by
    side, for example two studies of a table, before and after you added rows.

    Exit code: 0 on success; 2 if a file is not such a record, or if the two records are of different kinds.
    """
    from lemmata.interfaces.report import left_by, mixed, write_page
    from lemmata.printable import clean
    from lemmata.results import finish

    from ._console import err, plain
    from ._files import prepare_directory

    if len(records) > 2:
        raise SettingError(
            "lemmata report", found=f"{len(records)} records", rule="one result file, or two result files to compare"
        )
    for path in records:
        finish(path.parent, path.name)
    kinds = [kind_of(path) for path in records]
    if len(set(kinds)) > 1:
        known = next(kind for kind in kinds if kind is not studies.StudyRecord)
        other = next(path for path, kind in zip(records, kinds, strict=True) if kind is not known)
        found = f"a record of {known.about}, but {other.name} is a record of another kind"
        raise SettingError("lemmata report", found=found, rule="two records of the same kind")
    if kinds == [comparisons.ComparisonRecord] * 2:
        raise SettingError(
            "lemmata report",
            found="two comparisons",
            rule="one comparison, two studies, or two models",
            remedy="report the comparisons one at a time",
        )
    found = [kind.load(path) for kind, path in zip(kinds, records, strict=True)]
    page = directory / "index.html"
    keep_inputs(records, [page, *(directory / name for name in left_by(page))])
    prepare_directory(directory, "index.html")
    names = " or ".join(map(str, records))
    for sentence in (sentence for path in records for sentence in mixed(path)):
        err.print(f"Warning: {clean(sentence)}", markup=False, highlight=False, soft_wrap=True)
    other = found[1] if len(found) == 2 else None
    plain(clean(f"Report: {write_page(directory, found[0], other, name=names)}"))
