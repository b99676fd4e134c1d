"""Why fits with about as many parameters as rows are bad, and with many more are good again."""
