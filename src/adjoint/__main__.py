"""`python -m adjoint`: the command line."""

import sys

from adjoint.command.main import main

if __name__ == "__main__":
    sys.exit(main())
