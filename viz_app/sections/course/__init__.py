"""The course above the pages: the strip of a lesson, its answers and its outcome, and the list of lessons."""
