"""Floor 6: one HTML page from the record of a study. It reads the record and never recomputes."""

from ._page import write_report as write_report
