"""Imports beside the store they ended in: an earlier store held against a later one."""
