#!/bin/sh
# front.sh: a second score: which trials are kept, and the front in best, query, the block, the report, MCP and nights.
. "$SOURCE/tests/support/shell.sh"

must_run init --direction higher --noise-std 0.01 --second vram:lower --second-noise-std 1
decide()
{
    wanted_status=$1 score=$2 vram=$3
    must_run append --status auto --core-metric "$score" --measured "vram=$vram" --format json
    must_equal "$wanted_status" "$(json status)" "score $score, vram $vram"
}
decide keep 0.5 50             # 000: nothing to beat
decide keep 0.6 60             # 001: a better score
decide keep 0.4 30             # 002: worse, but smaller by more than the noise floor of 4.65
must_have out "on the front with vram"
decide discard 0.4 29          # 003: smaller than 002 by less than the noise
must_have out "dominated by 002"
decide discard 0.5 55          # 004: dominated by 000
must_have out "dominated by 000"
decide discard 0.505 49        # 005: better than 000 in both, but within both floors
decide keep 0.7 45             # 006: dominates 000 and 001
must_run append --status auto --core-metric 0.4 --format json # 007: without the second score it must beat the best
must_equal discard "$(json status)"
must_run append --status auto --core-metric 0.9 --format json # 008: and it does
must_equal keep "$(json status)"

# One call, several rows: each sees the ones before it.
printf '{"status": "auto", "core_metric": 0.3, "metrics": {"vram": %s}}\n' 20 19 10 >three.json
must_run append --json three.json --format tsv # 009, 010, 011
must_equal "keep discard keep" "$(grep -v exp_id out | cut -f 9 | tr '\n' ' ' | sed 's/ $//')"

must_run best
must_have out 008
must_run best --format json
must_equal 008 "$(json exp_id)"
must_equal vram "$(json second)"
must_equal 006 "$(json front.0.exp_id)"
must_equal 45.0 "$(json front.0.second)"
must_equal 002 "$(json front.1.exp_id)"
must_equal 011 "$(json front.2.exp_id)"
must_run best
must_have out "006: 0.7, vram 45.0"
must_run query --front --sort -core_metric --format tsv
must_equal "006 002 011" "$(sed 1d out | cut -f 1 | tr '\n' ' ' | sed 's/ $//')"
must_run query --front --param vram=:35 --format tsv
must_equal "002 011" "$(sed 1d out | cut -f 1 | tr '\n' ' ' | sed 's/ $//')"
must_run render --for agent
must_have out "**front** of core_metric and vram (a trial is kept also if no kept trial is as good in both): exp_006 (0.7, 45)"
must_run report --output page.html
must_have page.html "3 trials are on the front."
must_run report --svg front --output front.svg
must_have front.svg "<svg"
must_run verify

# The rule is the same for a handle that begins anew, as above, and for settings read back from lineage.json.
must_have lineage.json '"second_direction": "lower"'
printf '%s\n' '{"direction": "higher", "second_direction": "lower"}' >lineage.json
must_fail 2 'second_direction and second_noise_std belong to "second"' best
rm lineage.json

must_fail 2 "--second 'vram'" init a --second vram
must_fail 2 "--second 'vram:up'" init a --second vram:up
must_fail 2 "--second-noise-std belongs to --second" init a --second-noise-std 1
must_run init one
must_fail 2 "--front: the store has one score" query -C one --front
must_run init none --second vram:lower
must_run append -C none --status auto --core-metric 1
must_run query -C none --front --format tsv
must_equal 1 "$(wc -l <out)" "rows of an empty front"
must_run report -C none --output page.html
must_have page.html "No kept trial has both scores."

# A night makes such a store; one with other settings is refused.
cat >sweep.json <<'END'
{"name": "s", "direction": "lower", "second": "vram:lower", "command": ["echo", "loss={loss}", "vram={vram}"],
 "metrics": ["loss", "vram"], "order": "trials",
 "trials": [{"params": {"loss": 5, "vram": 5}}, {"name": "b", "params": {"loss": 6, "vram": 4}}, {"name": "c", "params": {"loss": 6, "vram": 6}}]}
END
must_run night sweep.json -C night -q
must_equal "baseline keep discard" "$(cut -f 2 out | tr '\n' ' ' | sed 's/ $//')"
must_fail 2 "but the second score of one is not set" night sweep.json -C one
# After void, a trial is judged as if the one that was as good in both scores had never been there.
must_run init void --direction lower --second mem:lower
for row in '1.3 13.4' '2.49 8.5' '2.44 11.6' '2.08 9.1' '2.44 10.3'; do
    must_run append -C void --status auto --core-metric "${row% *}" --measured "mem=${row#* }"
done
must_run show -C void 004 --format json
must_equal discard "$(json status)"
must_have out 'dominated by 003'
run void -C void 003 --reason test
must_exit 0
must_run query -C void --status keep --format tsv
must_equal '000 001 002 004' "$(sed 1d out | cut -f 1 | tr '\n' ' ' | sed 's/ $//')"
finish
