"""What the app and the command line ask for: a text in, a translation or a class with its maps out."""
