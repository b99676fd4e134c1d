"""Build the sdists and wheels of a release, each below the limit: python packaging/release.py OUT.

A release has three distributions, which pip installs into one package. `lemmata` is the code without the sections of
claims, and asks for the other two at its own version. An installation from a copy of the repository has everything.
"""

import pathlib
import subprocess
import sys
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).parents[1]
LIMIT = 3_000_000
"""Bytes of a file."""
CODE, CLAIMS, DATA = "lemmata", "lemmata-claims", "lemmata-data"
_PART = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "{version}"
description = "{about}"
requires-python = "{python}"
license = "MIT"
license-files = ["LICENSE"]
authors = [{{ name = "The lemmata developers" }}]

[tool.hatch.build.targets.wheel]
only-include = ["src/lemmata"]
sources = ["src"]
"""
_ABOUT = {
    CLAIMS: "The claims of lemmata as code. The distribution lemmata asks for it.",
    DATA: "Records of verdicts, lists of sources, templates and documentation of lemmata, which asks for it.",
}
_DOCS = '\n[tool.hatch.build.targets.wheel.force-include]\ndocs = "lemmata/docs"\n'


def parts() -> dict[str, dict[str, pathlib.Path]]:
    """The files of each distribution, by their places below `src/lemmata`."""
    found: dict[str, dict[str, pathlib.Path]] = {CODE: {}, CLAIMS: {}, DATA: {}}
    for base, start in ((ROOT / "src" / "lemmata", ""), (ROOT / "docs", "docs/")):
        for path in sorted(base.rglob("*")):
            place = start + path.relative_to(base).as_posix()
            if path.is_file() and "__pycache__" not in path.parts:
                found[_part_of(place)][place] = path
    return found


def _part_of(place: str) -> str:
    """The distribution of a file: sections of claims, other code, and what is no code."""
    folders = place.split("/")
    if folders[0] == "docs" or not place.endswith((".py", "py.typed")):
        return DATA
    is_section = folders[0] == "subjects" and len(folders) == 3 and not folders[-1].startswith("_")
    return CLAIMS if is_section else CODE


def project_of(part: str) -> str:
    """The pyproject.toml of a distribution."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    told = tomllib.loads(text)["project"]
    if part != CODE:
        return _PART.format(name=part, version=told["version"], about=_ABOUT[part], python=told["requires-python"])
    if _DOCS not in text or text.count("\ndependencies = [\n") != 1:
        raise SystemExit("pyproject.toml has another form than packaging/release.py expects; change one of them")
    others = "".join(f'    "{other}=={told["version"]}",\n' for other in _ABOUT)
    return text.replace(_DOCS, "").replace("\ndependencies = [\n", f"\ndependencies = [\n{others}")


def stage(part: str, files: dict[str, pathlib.Path], folder: pathlib.Path) -> None:
    """Lay out the source tree of a distribution.

    Args:
        part: its name.
        files: by their places below `src/lemmata`.
        folder: a new folder.
    """
    for place, path in files.items():
        target = folder / "src" / "lemmata" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    for name in ("LICENSE", *(("README.md", "CITATION.cff", "CHANGELOG.md") if part == CODE else ())):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    (folder / "pyproject.toml").write_text(project_of(part), encoding="utf-8")


def main(out: pathlib.Path) -> None:
    """Build all distributions into a folder, and refuse those above the limit."""
    for part, files in parts().items():
        with tempfile.TemporaryDirectory() as name:
            stage(part, files, pathlib.Path(name))
            command = [sys.executable, "-m", "hatchling", "build", "-d", str(out.resolve())]
            if subprocess.run(command, cwd=name, check=False).returncode:
                raise SystemExit(f"{part} could not be built; install the builder with: pip install hatchling")
    sizes = {path.name: path.stat().st_size for path in sorted(out.iterdir())}
    for name, size in sizes.items():
        print(f"{size:>9,}  {name}")
    if tall := [name for name, size in sizes.items() if size >= LIMIT]:
        raise SystemExit(
            f"{', '.join(tall)}: {LIMIT:,} bytes or more; make files smaller, or move some to another part"
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("python packaging/release.py OUT, where OUT is the folder for the files")
    main(pathlib.Path(sys.argv[1]))
