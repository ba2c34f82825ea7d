"""What pages ask for: checkpoints, results and analyses, as plain arrays."""
