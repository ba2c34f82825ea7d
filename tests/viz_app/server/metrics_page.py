"""A page that publishes the figures of its process, as the router does."""

import streamlit as st

from viz_app.server.metrics import publish_metrics
from viz_app.server.presence import visitor
from viz_app.server.server_state import turn

publish_metrics(lambda: 12_345)
visitor()
with turn():
    st.write("A page.")
