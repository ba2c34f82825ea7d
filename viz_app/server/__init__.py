"""Shared by all visitors of one server: caches, the gate, jobs, uploads, training runs."""
