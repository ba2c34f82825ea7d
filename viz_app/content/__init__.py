"""Texts: examples, the opening sentences of the pages, the glossary."""
