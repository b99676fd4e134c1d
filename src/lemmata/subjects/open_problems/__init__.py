"""Open problems of a survey (foundation2025, Section 7), each with a numerical test of a partial result."""
