#!/bin/sh
# Print an interpreter that the newest JAX runs on (3.OLDEST or newer), the newest that was tried first, or nothing.
# usage: tools/newest.sh PYTHON OLDEST
set -eu
python=$1 oldest=$2
pyenv=${PYENV_ROOT:-$HOME/.pyenv}/versions
for candidate in python3.13 "$pyenv"/3.13*/bin/python python3.12 "$pyenv"/3.12*/bin/python "$python"; do
    if "$candidate" -c "import sys; sys.exit(sys.version_info < (3, $oldest))" 2>/dev/null; then
        echo "$candidate"
        exit
    fi
done
