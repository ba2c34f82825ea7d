"""Figures from arrays and labels, each with its table and its summary. Nothing here imports torch or Streamlit."""
