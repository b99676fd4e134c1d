"""Shelves as the script of the site reads them."""
