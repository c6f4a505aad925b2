#!/bin/sh
# export.sh: copies results.tsv byte for byte from one store to another, damaged rows included, with the same digests.
. "$SOURCE/tests/support/shell.sh"

mkdir a b
must_run -C a append --create --status keep --core-metric 1.5 --hypothesis 'a "quoted" one'
must_run -C a append --status crash --hypothesis 'caf\303\251'
printf 'short\trow\r\n\n\377\376\tno text\nlone\rreturns\nand\ttorn' >>a/results.tsv

must_run -C a export
must_match_file a/results.tsv out
must_run -C a export --output copy.tsv
must_match_file a/results.tsv copy.tsv
must_equal '' "$(cat out)"
must_run -C a verify --help
run -C a verify --digest
tail -n 1 out | cut -d' ' -f1 >digest

must_run -C b import --exact copy.tsv
must_equal "$(wc -c <copy.tsv | tr -d ' ') bytes imported" "$(cat out)"
must_match_file a/results.tsv b/results.tsv
run -C b verify --digest
must_equal "$(cat digest)" "$(tail -n 1 out | cut -d' ' -f1)" "digest of the copy"
must_run -C b import --exact copy.tsv
must_equal '0 bytes imported' "$(cat out)"

# Through a pipe, and only what was appended since.
printf ' it was\nmore\n' >>a/results.tsv
must_run -C a export
"$LINEAGE" -C b import --exact /dev/stdin <out >/dev/null 2>err || fail "import by a pipe"
must_match_file a/results.tsv b/results.tsv

# A store's own rows are never overwritten, and the log cannot be the target of a copy of itself.
must_run -C b append --status keep --core-metric 1.0
cp b/results.tsv before
must_fail 2 'not those of the file' -C b import --exact a/results.tsv
must_match_file before b/results.tsv
must_fail 2 "the store's own log" -C b export --output b/results.tsv
must_match_file before b/results.tsv
must_fail 2 'cannot be used with --metric' -C b import --exact --metric val_bpb copy.tsv

# A file that cannot be written stays unchanged.
mkdir dir
must_fail 3 'cannot write' -C a export --output dir/none/copy.tsv
must_equal '' "$(ls -A dir)"
if [ -c /dev/full ]; then
    "$LINEAGE" -C a export >/dev/full 2>err && fail "an export into a full device"
    must_have err 'cannot write'
    must_fail 3 'cannot write' -C a export --output /dev/full
fi
mkdir empty
must_run init empty
must_run -C empty export
must_equal '' "$(cat out)"

finish
