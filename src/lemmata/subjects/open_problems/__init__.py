"""Open problems of the survey, with one probe for each."""
