"""Floor 4: the theory. A package a chapter, a module a section: mathematics first, then the claims about it."""
