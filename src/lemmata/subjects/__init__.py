"""The theory by subject. Each subject is a package and each section a module: first mathematics, then the claims about
it.
"""
