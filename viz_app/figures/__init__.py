"""Arrays and labels in, Plotly figures out. Knows nothing of torch, of Streamlit or of the model."""
