"""The course: lessons whose questions are answered on the visitor's own run of a model."""
