"""Bounded-memory episodes in which facts change, scored by a program: data model, protocol, scoring, sources and adapters."""
