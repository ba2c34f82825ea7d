"""What a visitor takes home: a report, and the views of BertViz."""
