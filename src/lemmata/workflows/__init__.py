"""Jobs of one form: the user's input is loaded, the job runs, a record is made."""
