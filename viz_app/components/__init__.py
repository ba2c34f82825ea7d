"""Our own web components: what they are sent. Their JavaScript and CSS is in `live/ui/`."""
