"""`python -m leastaction`: the command."""

from __future__ import annotations

import signal
import sys

from . import _core


def main() -> int:
    """Runs the command with the arguments of the process."""
    # The command has a handler of its own that leaves whole files behind.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command(["leastaction", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
