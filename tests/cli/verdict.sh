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
finish
