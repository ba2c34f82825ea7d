"""The tabs of the page Inside."""
