"""Executable theorems of a textbook (younes2024introduction): one to four theorems for each subject."""
