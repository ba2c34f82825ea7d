"""Parts of pages that are too long for one file: each draws what stands under one tab."""
