"""Our own web components: what they are sent, and their JavaScript and CSS in `assets/`."""
