"""The problems of claims, their generators and conditions. A user's data are also converted to problems."""
