"""The tabs of the page Masks, and the controls that they share."""
