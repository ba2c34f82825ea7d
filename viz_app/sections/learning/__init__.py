"""Parts of the page Watch it learn."""
