"""The data of our components, which a page sends to the browser and a report carries.

Numbers are base64 of float32, so that the browser shows exact values. Every text stays text.
"""
