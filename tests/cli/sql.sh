#!/bin/sh
# sql.sh: `lineage sql` reads the mirror, and nothing it is given can write.
. "$SOURCE/tests/support/shell.sh"

must_run append --status keep --core-metric 1.5 --alpha 0.3 --hypothesis "tab${tab}bed"
must_run append --status crash

must_run sql 'SELECT exp_id, status, core_metric, hypothesis FROM trials ORDER BY seq' --format tsv
must_equal "exp_id${tab}status${tab}core_metric${tab}hypothesis" "$(sed -n 1p out)"
must_equal "000${tab}keep${tab}1.5${tab}\"tab${tab}bed\"" "$(sed -n 2p out)"
must_equal "001${tab}crash${tab}${tab}" "$(sed -n 3p out)"
must_run sql "SELECT exp_id, value FROM params WHERE key = 'alpha'" --format json
must_equal '[{"exp_id":"000","value":"0.3"}]' "$(json '')"
must_run sql 'SELECT NULL AS absent, 1 AS one' --format json
must_equal '[{"absent":null,"one":"1"}]' "$(json '')"
must_run sql 'SELECT count(*) AS n FROM trials'
must_equal 'n 2 ' "$(tr '\n' ' ' <out)"
must_run sql 'SELECT 1 WHERE 0' --format json
must_equal '[]' "$(json '')"
must_run sql ' WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) SELECT n FROM c; '
must_equal 4 "$(wc -l <out)"
must_run sql '/* a comment */ SELECT 1'

cp results.tsv before
for statement in 'DELETE FROM trials' 'UPDATE trials SET status = 1' 'DROP TABLE trials' 'INSERT INTO meta DEFAULT VALUES' \
    'CREATE TABLE t (x)' 'CREATE TEMP TABLE t (x)' "ATTACH 'other.db' AS other" 'DETACH main' 'VACUUM' \
    "VACUUM INTO 'other.db'" 'PRAGMA journal_mode = DELETE' 'PRAGMA writable_schema = 1' 'BEGIN' 'COMMIT' 'REINDEX' \
    'ANALYZE' 'EXPLAIN DELETE FROM trials' "SELECT load_extension('x')" 'SELECT 1; DELETE FROM trials' \
    'WITH c AS (SELECT 1) DELETE FROM trials'; do
    must_fail 2 sql sql "$statement"
done
must_match_file before results.tsv
[ ! -e other.db ] || fail "a file was written"
must_run sql 'SELECT count(*) AS n FROM trials' --format json
must_equal 2 "$(json 0.n)"

must_fail 2 "empty" sql ''
must_fail 2 "empty" sql '  ;'
must_fail 2 "no such table: nope" sql 'SELECT * FROM nope'
must_fail 2 "syntax error" sql 'SELEC 1'
must_fail 2 "no such function: writefile" sql "SELECT writefile('x', 'y')"
finish
