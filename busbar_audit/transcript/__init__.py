"""Transcripts of agent sessions: events, legacy rows, and what readers make of them."""
