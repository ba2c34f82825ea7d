"""Parts of the page Sentiment."""
