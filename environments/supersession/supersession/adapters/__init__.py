"""Thin bindings to verifiers: `multiturn` for its v0 API (0.3), `v1` for its current one (0.3.1 and 0.4)."""
