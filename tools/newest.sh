#!/bin/sh
# Print the first interpreter that the newest JAX runs on (3.OLDEST or newer), or nothing.
# usage: tools/newest.sh PYTHON OLDEST
set -eu
python=$1 oldest=$2
for candidate in "$python" python3.13 python3.12 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[23]*/bin/python; do
    if "$candidate" -c "import sys; sys.exit(sys.version_info < (3, $oldest))" 2>/dev/null; then
        echo "$candidate"
        exit
    fi
done
