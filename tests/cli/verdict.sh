#!/bin/sh
# verdict.sh: whether predictions came true, in show, query, the block, SQL, the report and over MCP.
. "$SOURCE/tests/support/shell.sh"

# A margin of 1.96 * 0.1 * sqrt(2) = 0.277.
must_run init --direction higher --noise-std 0.1
must_run append --status baseline --core-metric 1
add()
{
    must_run append --specialist "$1" --status auto --core-metric "$2" --expected-delta "$3" --hypothesis "trial $2"
}
add ann 1.5 +0.4
add ann 1.6 '+0.5 EM'
add bob 1.7 +0.3
add bob 1.2 +0.2
must_run append --specialist bob --status crash --expected-delta +1
must_run append --specialist bob --status auto --core-metric 1.7 --expected-delta 'much better'

must_run show 001
must_have out "supported: expected +0.4, happened +0.5 ± 0.28"
must_run show 002 --format json
must_equal refuted "$(json verdict.verdict)"
must_equal 0.5 "$(json verdict.expected)"
must_equal false "$(json verdict.covered)"
must_run show 003 --format json
must_equal inconclusive "$(json verdict.verdict)"
must_equal true "$(json verdict.covered)"
must_run show 005
must_lack out verdict
must_run query --format json
must_equal supported "$(json 1.verdict.verdict)"
must_equal refuted "$(json 4.verdict.verdict)"

must_run sql 'SELECT specialist, hypothesis_verdict(expected, delta_vs_best) v, count(*) FROM trials WHERE v IS NOT NULL GROUP BY 1, 2' --format tsv
must_have out "ann${tab}refuted${tab}1"
must_have out "ann${tab}supported${tab}1"
must_have out "bob${tab}inconclusive${tab}1"
must_have out "bob${tab}refuted${tab}1"

must_run render --for ann
must_have out "| supported | refuted | inconclusive | interval covers it |"
must_have out "\`+0.4\` (supported)"
sed -n '/^| ann | 2 /p' out >row
must_have row "| 1 | 1 | 0 | 1 |"
must_run report --output page.html
must_have page.html "supported 1, refuted 1 of 2"

# Without a noise floor nothing is decided, and the block says nothing about it.
must_run init quiet --direction higher
must_run append -C quiet --status baseline --core-metric 1
must_run append -C quiet --status auto --core-metric 2 --expected-delta 1
must_run show -C quiet 001
must_have out "inconclusive: expected +1, happened +1, and the noise is unknown"
must_run render -C quiet --for ann
must_lack out supported
must_lack out inconclusive

# What is kept without a noise floor is not known to be better: every place says so, with the command that finds out.
claim="not known to be better: the noise is unknown; the score of another run finds out: \`lineage append --status discard --core-metric SCORE --notes 'replicates 001'\`"
must_have out "exp_001 is $claim."
for command in best 'show 001'; do
    # shellcheck disable=SC2086 # the words of a command
    must_run -C quiet $command
    must_have out "claim               $(echo "$claim" | sed 's/lineage append/& -C quiet/')"
    # shellcheck disable=SC2086
    must_run -C quiet $command --format json
    must_equal "$claim" "$(json claim)"
done
must_run show -C quiet 000
must_lack out claim
must_run append -C quiet --status auto --core-metric 2.5
must_run report -C quiet --output page.html
must_have page.html '<dt>claim</dt><dd>not known to be better'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"best","arguments":{}}}' \
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"append","arguments":{"hypothesis":"h","status":"auto","core_metric":2.7}}}' >in
"$LINEAGE" mcp --allow-write -C quiet <in 2>/dev/null >out
must_equal 2 "$(grep -c '"claim":"not known to be better' out)" 'best and append of MCP'
# The command does find out.
must_run append -C quiet --status discard --core-metric 2.4 --notes 'replicates 003'
must_run append -C quiet --status discard --core-metric 2.6 --notes 'replicates 003'
must_have quiet/lineage.json '"noise_std": 0.15'
must_run show -C quiet 003
must_lack out claim
# A reason of the rules counts behind a person's words that begin as it does.
must_run init said --direction higher --noise-std 0.1
must_run append -C said --status keep --core-metric 1
must_run append -C said --status auto --core-metric 1.01 --notes 'discarded: the first try'
sed -i 's/"noise_std": 0.1/"noise_std": 0.0001/' said/lineage.json
must_run render -C said --sections recent
must_have out 'discard (+0.01, not enough when it was judged)'
finish
