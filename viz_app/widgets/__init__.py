"""Inputs and pictures that several pages share."""
