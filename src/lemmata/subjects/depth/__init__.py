"""Depth: sparse networks out of wide ones, functions that need depth, and the worst case of descent."""
