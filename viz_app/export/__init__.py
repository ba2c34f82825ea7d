"""Documents to download or embed: the HTML report, and the views of BertViz."""
