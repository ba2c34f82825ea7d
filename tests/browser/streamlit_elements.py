"""A page with every element of Streamlit that our JavaScript and styles name."""

import plotly.graph_objects as go
import streamlit as st


def show() -> None:
    st.logo("live/ui/logo.svg")
    st.sidebar.toggle("Toggle", key="toggle")
    left, right = st.columns(2)
    left.button("Button", key="named")
    left.selectbox("Select", ["a", "b"])
    left.multiselect("Several", ["a", "b"], ["a"])
    left.checkbox("Check")
    left.slider("Slide", 0, 1)
    left.text_input("Text")
    left.text_area("Lines")
    left.segmented_control("Group", ["a", "b"])
    with right.popover("Popover"):
        st.write("Inside")
    right.markdown("text")
    right.caption("caption")
    right.subheader("heading")
    right.html("<b>html</b>")
    right.code("def f(): pass  # comment", language="python")
    right.dataframe({"a": [1]})
    right.iframe("data:text/html,frame")
    st.components.v2.component("element", html="<i>x</i>", js="export default () => {}")(key="element")
    heatmap = {"type": "heatmap", "z": [[0, 1], [1, 0]], "hovertemplate": "one<br>two<extra></extra>"}
    st.plotly_chart(go.Figure(data=[heatmap]), key="chart")


def other() -> None:
    st.write("other")


pages = [st.Page(show, default=True), st.Page(other, title="Other")]
st.navigation({"One": pages[:1], "Two": pages[1:]}).run()
