#!/bin/sh
# injection.sh: no order in a store's texts reaches an agent as anything but data (injection.py). With LINEAGE_INJECTION_ENDPOINT
# and LINEAGE_INJECTION_MODEL set, a model reads every answer and must not do what the texts tell it.
set -eu
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset http_proxy HTTP_PROXY ALL_PROXY all_proxy
if [ -n "${LINEAGE_INJECTION_ENDPOINT:-}" ] && [ -n "${LINEAGE_INJECTION_MODEL:-}" ]; then
    python3 "$SOURCE/tests/mcp/injection.py" "$LINEAGE" "$scratch" --endpoint "$LINEAGE_INJECTION_ENDPOINT" --model "$LINEAGE_INJECTION_MODEL"
else
    python3 "$SOURCE/tests/mcp/injection.py" "$LINEAGE" "$scratch"
fi
