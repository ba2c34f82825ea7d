"""The atlas: what every head does in a whole corpus, measured once and read often. `docs/atlas.md` has the formulas."""
