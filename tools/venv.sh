#!/bin/sh
# Make the virtual environment DIR with PYTHON, or keep the one that is there if it will do.
# usage: tools/venv.sh DIR PYTHON OLDEST [same]
#   OLDEST  the least 3.x that will do, as x
#   same    an environment of another version than PYTHON's will not do
# DIR/interpreter is written when the environment is new.
set -eu
dir=$1 python=$2 oldest=$3 same=${4:-}

version() { # of an interpreter, as 3.x; nothing where it does not run
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true
}

old() {
    test "${1%%.*}" -lt 3 || test "${1#*.}" -lt "$oldest"
}

has=
if test -e "$dir/bin/python"; then
    has=$(version "$dir/bin/python")
fi
wanted=$(version "$python")

if test -n "$has" && ! old "$has" && "$dir/bin/python" -c 'import pip' 2>/dev/null; then
    if test -z "$same" || test "$has" = "$wanted"; then
        test -e "$dir/interpreter" || echo "$has" > "$dir/interpreter"
        exit 0
    fi
fi

if test -z "$wanted"; then
    echo "$python does not run: name a Python 3.$oldest or newer, as in make install PYTHON=python3.12" >&2
    exit 2
fi
if old "$wanted"; then
    echo "Saddle needs Python 3.$oldest or newer, and $python is $wanted:" \
        "name another, as in make install PYTHON=python3.12" >&2
    exit 2
fi
if test -e "$dir"; then
    echo "$dir has Python ${has:-that does not run}, and $wanted is wanted: making it anew"
    rm -rf "$dir"
else
    echo "making $dir with Python $wanted"
fi
"$python" -m venv "$dir"
echo "$wanted" > "$dir/interpreter"
