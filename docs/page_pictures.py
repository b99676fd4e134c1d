"""Draws what README and the front page show: python docs/page_pictures.py writes docs/pictures/*_page*.png.

It makes three tables of sklearn's breast cancer data (tumours of usual size in two parts, and larger ones), runs the
commands of README on them, prints what they print, and photographs the pages with headless Chromium: as a wide window
shows them, and as a telephone does.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from PIL import Image
from sklearn.datasets import load_breast_cancer

PICTURES = pathlib.Path(__file__).parent / "pictures"
LOOKS = {"": (1120, 700, 1), "_narrow": (390, 560, 2)}
"""Ends of the names of the pictures: width and height of the window, and pixels of the picture for one of it."""
WHOLE = {"study_page_narrow": 760}
"""The heights of windows in which the picture of a page would end within a chart otherwise."""
COMMANDS = {
    "study_page": "lemmata study train.csv --target tumour --error 'accuracy 0.98'",
    "model_page": "lemmata model fitted.py train.csv --target tumour --held held.csv --out model --time-limit inf",
    "shift_page": "lemmata model fitted.py train.csv --target tumour --held larger.csv --out shift --time-limit inf",
}
PROGRAM = """
import pandas
from sklearn.linear_model import LogisticRegression


def build():
    table = pandas.read_csv("train.csv")
    rows, tumour = table.drop(columns="tumour").to_numpy(), table["tumour"]
    return LogisticRegression().fit(rows, tumour)
"""
PAGES = {
    "study_page": "report/index.html",
    "model_page": "model/model/index.html",
    "shift_page": "shift/model/index.html",
}


def write_tables(folder: pathlib.Path) -> None:
    """The tables of README: train.csv and held.csv are drawn alike, larger.csv has the quarter of largest tumours."""
    frame = load_breast_cancer(as_frame=True).frame.sample(frac=1, random_state=0)
    frame = frame.rename(columns={"target": "tumour"})
    columns = frame.columns.drop("tumour")
    frame[columns] = ((frame[columns] - frame[columns].mean()) / frame[columns].std()).round(4)
    frame["tumour"] = frame["tumour"].map({0: "malignant", 1: "benign"})
    larger = frame["mean area"] > frame["mean area"].quantile(0.75)
    frame[~larger][:320].to_csv(folder / "train.csv", index=False)
    frame[~larger][320:].to_csv(folder / "held.csv", index=False)
    frame[larger].to_csv(folder / "larger.csv", index=False)


def photograph(page: pathlib.Path, picture: pathlib.Path, width: int, height: int, scale: int) -> None:
    """A page as it opens, in few colours so that the file is small."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("Chromium is not installed")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000"]
    size = [f"--window-size={width},{height}", f"--force-device-scale-factor={scale}", f"--screenshot={picture}"]
    subprocess.run([program, *options, *size, page.as_uri()], check=True, capture_output=True)
    with Image.open(picture) as found:
        found.convert("RGB").quantize(96).save(picture, optimize=True)


def main() -> None:
    """Run the commands in an empty folder and photograph their pages."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        write_tables(folder)
        (folder / "fitted.py").write_text(PROGRAM)
        for name, command in COMMANDS.items():
            print(f"$ {command}")
            subprocess.run(command, shell=True, check=True, cwd=folder, stderr=subprocess.DEVNULL)
            for end, (width, height, scale) in LOOKS.items():
                picture = PICTURES / f"{name}{end}.png"
                photograph(folder / PAGES[name], picture, width, WHOLE.get(picture.stem, height), scale)


if __name__ == "__main__":
    main()
