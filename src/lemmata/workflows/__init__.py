"""Jobs of one form: load the user's input, run the job, and return a record."""
