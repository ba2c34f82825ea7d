"""What recorded arrays tell: arrays in, arrays out."""
