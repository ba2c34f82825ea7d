"""A page that says which visitor sees it, and what is known of the tabs of this visitor."""

import streamlit as st

from viz_app.server.presence import VISITORS, visitor
from viz_app.server.streamlit_bridge import browser_closed

me = visitor()
st.markdown(f"visitor {id(me)}")
st.markdown(f"known {len(VISITORS)}")
for tab in sorted(me._tabs.values(), key=lambda tab: tab.session):
    here = tab.here()
    words = "open" if tab.gone_since is None else "closed" if browser_closed(tab.connection) else "lost"
    st.markdown(f"tab {tab.session} {words}" + ("" if here else ", too long ago"))
