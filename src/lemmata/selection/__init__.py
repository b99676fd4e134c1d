"""Floor 3: which rows to label next, by coding rates and their rivals."""
