"""Texts: examples, the sentences that a page opens with, the glossary."""
