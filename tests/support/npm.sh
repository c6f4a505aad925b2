# npm.sh: packages of npm that tests use. tests/run.sh fetches them into the build directory before the tests, which stay offline.
# Sourced; BUILD is the build directory.
# shellcheck shell=sh disable=SC2034

npm_clients='@modelcontextprotocol/client@2.4 @modelcontextprotocol/sdk@1.32 ajv@8 ajv-formats@3 gpt-tokenizer@4' # of `lineage mcp`
npm_axe='axe-core@4.10.3'
npm_pyright='pyright@1.1.414'
case $(node --version 2>/dev/null) in
v1[0-9].* | '') npm_clients="$npm_clients node@22" ;; # the newer client needs it
esac

# npm_has FOLDER PACKAGES: whether they were fetched.
npm_has() { [ "$(cat "$BUILD/$1/installed" 2>/dev/null)" = "$2" ]; }

# npm_fetch FOLDER PACKAGES
npm_fetch()
{
    ! npm_has "$1" "$2" || return 0
    mkdir -p "$BUILD/$1"
    echo '{"private":true}' >"$BUILD/$1/package.json"
    # shellcheck disable=SC2086 # a list of packages
    (cd "$BUILD/$1" && npm install --no-audit --no-fund --no-save $2 >log 2>&1) && echo "$2" >"$BUILD/$1/installed" ||
        echo "npm cannot fetch $2; the tests that need it are skipped: $(tail -n 1 "$BUILD/$1/log")" >&2
}
