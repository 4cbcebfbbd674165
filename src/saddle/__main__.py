"""`python -m saddle` is the command `saddle`."""

import sys

from saddle.cli import main

if __name__ == "__main__":
    sys.exit(main())
