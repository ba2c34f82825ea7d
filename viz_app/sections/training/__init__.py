"""Parts of the page Train one here."""
