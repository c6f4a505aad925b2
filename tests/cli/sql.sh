#!/bin/sh
# sql.sh: `lineage sql` reads the mirror, and no statement can write.
. "$SOURCE/tests/support/shell.sh"

must_run append --create --status keep --core-metric 1.5 --alpha 0.3 --hypothesis "tab${tab}bed"
must_run append --status crash

must_run sql 'SELECT exp_id, status, core_metric, hypothesis FROM trials ORDER BY seq' --format tsv
must_equal "exp_id${tab}status${tab}core_metric${tab}hypothesis" "$(sed -n 1p out)"
must_equal "000${tab}keep${tab}1.5${tab}\"tab${tab}bed\"" "$(sed -n 2p out)"
must_equal "001${tab}crash${tab}${tab}" "$(sed -n 3p out)"
must_run sql "SELECT exp_id, value FROM params WHERE key = 'alpha'" --format json
must_equal '[{"exp_id":"000","value":0.3}]' "$(json '')"
must_run sql 'SELECT NULL AS absent, 1 AS one' --format json
must_equal '[{"absent":null,"one":1}]' "$(json '')"
must_run sql 'SELECT count(*) AS n FROM trials'
must_equal 'n 2 ' "$(tr '\n' ' ' <out)"
# Two scores that differ are shown as two numbers, and each finds its row. Without a row, the columns are still named.
for score in 0.3333333333333333 0.33333333333333337; do
    must_run sql "SELECT $score AS score, '2' AS text, 1e300 * 1e300 AS most, 30.0 AS whole" --format json
    must_equal "{\"score\": $score, \"text\": \"2\", \"most\": \"inf\", \"whole\": 30.0}" "$(sed -n 's/^ //p' out)"
    must_run sql "SELECT $score AS score" --format tsv
    must_equal "score $score " "$(tr '\n' ' ' <out)"
done
for format in table tsv; do
    must_run sql --format $format "SELECT exp_id, score FROM trials WHERE 0"
    must_equal 'exp_id score' "$(tr -s '\t ' '  ' <out)"
done
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

# Only functions that compute may be called, and only the schema's tables may be read.
for call in 'fts3_tokenizer(1)' "load_extension('x')" 'randomblob(9)' 'zeroblob(1000000000)' 'sqlite_version()' \
    'sqlite_compileoption_get(1)' 'last_insert_rowid()'; do
    must_fail 2 "not authorized to use '${call%%(*}'" sql "SELECT $call"
done
for table in pragma_database_list 'pragma_table_info(1)' pragma_function_list sqlite_dbpage bytecode; do
    run sql "SELECT * FROM $table"
    must_exit 2
    run sql "SELECT count(*) FROM $table"
    must_exit 2
done
must_run sql "SELECT sum(value), max(score), json_extract('[1,2]', '\$[1]'), upper(substr(trials.exp_id, 1, 2)), round(1.25, 1)
    FROM trials JOIN params USING (seq) WHERE hypothesis LIKE 'tab%' AND hypothesis GLOB '*'"

# A statement that would not end, or would use too much memory, is ended, and the message names the limit.
endless='WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT'
must_fail 2 "not done after 0.2 seconds" sql --max-seconds 0.2 "$endless count(*) FROM c"
must_fail 2 "more than 8 MiB of memory" sql --max-memory 8 "$(echo "$endless" | sed 's/ALL//') count(*) FROM c"
must_fail 2 "more than 1 MiB of memory" sql --max-memory 1 \
    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 200) SELECT length(group_concat(printf('%100000d', n))) FROM c"
must_fail 2 "more than 8 MiB of memory" sql --max-memory 8 "$endless group_concat(n) FROM (SELECT n FROM c ORDER BY -n)"
run sql --max-rows 3 "$endless n FROM c" --format tsv
must_exit 2
must_equal '3' "$(tail -n 1 out)" 'the last row within the limit'
must_have err 'more than 3 rows'
must_have err '--max-rows'
must_run sql --max-rows 3 "$endless n FROM c LIMIT 3"
# One call of a function cannot outlast the limits either. Each of these would need many seconds or gigabytes. SQLite's printf
# answers NULL, or an error, for a size beyond the longest value.
for statement in "SELECT length(format('%2000000000d', 1))" \
    "SELECT length(printf('%.2000000000f', 1))" "SELECT length(group_concat(printf('%060000000d', 1))) FROM trials"; do
    run sql --max-memory 100 "$statement" --format tsv
    [ "$status" -eq 2 ] || must_equal NULL "$(tail -n 1 out | sed 's/^$/NULL/')"
done
must_fail 2 "a value of more than 1048576 bytes; select a part of it" sql --max-memory 100 \
    "SELECT replace(printf('%.*c', 1000000, 'a'), 'a', 'bbb')"
must_fail 2 "limit: memory" sql --max-memory 100 \
    "WITH RECURSIVE t(x, i) AS (SELECT printf('%01000000d', 1), 1 UNION SELECT x || i, i + 1 FROM t) SELECT count(*) FROM t"
must_fail 2 "256 bytes" sql "SELECT trim('a', printf('%.*c', 1000000, 'b'))"
must_fail 2 "pattern too complex" sql "SELECT 'a' LIKE printf('%.*c', 1000, '_')"
must_fail 2 "too large" sql "SELECT 1$(printf '%0300d' 0 | sed 's/0/+1/g')"
must_fail 2 "sql: integer overflow" sql "SELECT sum(9223372036854775807) FROM trials"
# Each clause doubles the one before: 4 million copies before the first step.
doubling='WITH a0 AS (SELECT 1 x)' before=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
    doubling="$doubling, a$i AS (SELECT x FROM a$before UNION ALL SELECT x FROM a$before)" before=$i
done
must_fail 2 "too complex" sql "$doubling SELECT count(*) FROM a22"
must_run sql "SELECT instr(printf('%.*c', 1000000, 'a'), printf('%.*c', 500000, 'a') || 'b') AS i,
    length(replace(printf('%.*c', 1000000, 'a'), printf('%.*c', 500000, 'a') || 'b', '')) AS r" --format tsv
must_equal "0${tab}1000000" "$(tail -n 1 out)"

as=$(printf '%0180d' 0 | tr 0 a)
must_fail 2 "not done after 0.5 seconds" sql --max-seconds 0.5 "$endless sum(printf('%.*c', 1000000, 'a') LIKE '%${as}b%') FROM c"
must_fail 2 "too many arguments" sql "SELECT json_extract('[1]'$(printf '%0120d' 0 | sed "s/0/, '\$[0]'/g"))"

must_fail 2 'greater than 0' sql --max-rows 0 'SELECT 1'
must_fail 2 'greater than 0' sql --max-seconds 0 'SELECT 1'
finish
