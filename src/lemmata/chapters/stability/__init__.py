"""Stability: how far one row moves what is learned, what that says of new rows, and where more of anything hurts."""
