"""Interactive pictures: web components of our own, each in the file of `live/ui/` with the same name.

They are part of the page, without a frame, and use no other host. They are built once and then updated. Each file here
makes the data of its components and mounts them; `viz_app/widgets/charts.py` does so for maps. Their colours are those
of the figures.
"""
