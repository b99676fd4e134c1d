"""The theory by subject: a package a chapter, a module a section; mathematics, then the claims about it."""
