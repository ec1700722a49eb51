"""The families of stores: how each is recognised, its generations, its shapes."""

NAMES = ("busbar",)
