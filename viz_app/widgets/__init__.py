"""Controls and notes that several pages share: pickers, fields, headings, chips, long work."""
