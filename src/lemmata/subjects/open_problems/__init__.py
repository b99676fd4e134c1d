"""Open problems of the survey, one probe each."""
