"""Why fits with about as many parameters as rows are bad, and fits with many more parameters are good again."""
