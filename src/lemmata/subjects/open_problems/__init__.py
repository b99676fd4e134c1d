"""Open problems of the survey, each with a numerical test of a partial result."""
