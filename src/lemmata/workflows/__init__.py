"""Jobs of one shape: what a user has is loaded, the job runs, a record is made."""
