"""The parts of the page Circuits."""
