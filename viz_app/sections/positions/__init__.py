"""The controls and the tabs of the page Positional encoding."""
