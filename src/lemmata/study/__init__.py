"""Floor 6: the main job. Data in, a record of the study out."""

from ._data import Dataset as Dataset
from ._data import load_dataset as load_dataset
