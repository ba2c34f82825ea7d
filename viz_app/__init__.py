"""The Streamlit app: pages, the figures they show, and the services that feed them."""
