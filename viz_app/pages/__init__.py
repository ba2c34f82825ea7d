"""One file a page: controls → service → figure. They hold no logic of their own."""
