"""The user interfaces: functions in Python, the command line, pages and the site."""
