"""What people touch: the functions in Python, the command line, pages, the site."""
