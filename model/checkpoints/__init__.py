"""Folders of trained weights: save, load, list and check them, also weights from tutorials."""
