"""Decisions: how complex a model, and how complex its best values are."""
