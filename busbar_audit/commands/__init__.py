"""What each command of `busbar-audit` does: collects options, calls one function, shows what came."""
