"""The test problems of claims, their generators (populations) and hypotheses, and conversions of a user's data."""
