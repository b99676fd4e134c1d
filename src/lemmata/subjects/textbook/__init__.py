"""The textbook: one executable theorem for each of its chapters."""
