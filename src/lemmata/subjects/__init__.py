"""The theory by subject. Each subject is a package and each section a module: first the mathematics, then the
claims about it.
"""
