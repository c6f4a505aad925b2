#!/bin/sh
# shellcheck disable=SC2154,SC2034 # shared with shell.sh
# faults.sh: `lineage judge` with an endpoint that simulates every fault (judge_server.c): what is retried, what ends the
# command, what is paid for twice, and that nothing is falsely reported as judged. Also that the key is never written.
. "$SOURCE/tests/support/shell.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy SSL_CERT_FILE LINEAGE_JUDGE_KEY
key=sk-test-0123456789abcdef

# serve ARGUMENT...: starts a server; sets $port, logs to ./requests. It exits when descriptor 9 is closed.
serve()
{
    exec 9>&-
    rm -f port stdin
    mkfifo stdin
    "$JUDGE_SERVER" requests "$@" <stdin >port &
    exec 9>stdin
    tries=0
    while [ ! -s port ] && [ "$tries" -lt 3000 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
    port=$(cat port)
    [ -n "$port" ] || fail "no server"
}

# ask FILE ARGUMENT...: runs the judge with that server, almost without waiting between attempts.
ask()
{
    file=$1
    shift
    run judge "$file" --endpoint "http://127.0.0.1:$port/v1" --model test --backoff 0.01 "$@"
}

# one TASK [REWARD]: prints a trajectory of two steps, of which the first is good.
one()
{
    printf '{"id": "x", "task": "%s", "reward": %s, "steps": [{"action": "a good step", "observation": "o"}, {"action": "a step"}]}\n' \
        "$1" "${2:-1}"
}

# ends WANTED FAULT: a trajectory with that fault gets the mark WANTED.
ends()
{
    one "$2 FAULT=$2" >t.jsonl
    : >requests
    ask t.jsonl --no-cache
    must_equal "$1" "$(marks)" "$2"
    case $1 in judged) must_exit 0 ;; *) must_exit 1 ;; esac
}

marks()
{
    sed -n 's/.*"mark":"\([a-z]*\)".*/\1/p' out | tr '\n' ' ' | sed 's/ $//'
}

# at_least_a_second: the first two requests are at least a second apart.
at_least_a_second()
{
    must_equal yes "$(awk -F '"ms":' '{ split($2, a, ","); t[NR] = a[1] } END { print (t[2] - t[1] >= 990 ? "yes" : "no") }' requests)" "$1"
}

# ---- help and bad input ----
must_run judge --help
must_have out trajectory.schema.json
must_run judge --print-prompt
must_have out '"version": "lineage-1"'
one fine >t.jsonl
must_fail 2 '--endpoint URL and --model NAME' judge t.jsonl
must_fail 2 'must not hold a password' judge t.jsonl --endpoint http://u:p@127.0.0.1/ --model m
must_fail 2 'must begin with http' judge t.jsonl --endpoint 127.0.0.1 --model m
must_fail 2 'judge.concurrency' judge t.jsonl --endpoint http://127.0.0.1 --model m --concurrency 0
must_fail 2 'NO_SUCH_KEY, which should hold the key' judge t.jsonl --endpoint http://127.0.0.1:1 --model m --key-env NO_SUCH_KEY
must_fail 2 'missing.json' judge t.jsonl --endpoint http://127.0.0.1:1 --model m --prompt missing.json
printf '%s\n{"task": 3}\n' "$(cat t.jsonl)" >bad.jsonl
must_fail 2 'bad.jsonl:2: "task"' judge bad.jsonl --endpoint http://127.0.0.1:1 --model m
printf '{"task": "t",\n' >bad.jsonl
must_fail 2 'bad.jsonl:1:' judge bad.jsonl --endpoint http://127.0.0.1:1 --model m
must_fail 2 'needs "group"' judge t.jsonl --endpoint http://127.0.0.1:1 --model m --skip small_adv
LINEAGE_JUDGE_KEY=$(printf 'a\nb') && export LINEAGE_JUDGE_KEY
must_fail 2 'does not hold a key: it has blanks or control' judge t.jsonl --endpoint http://127.0.0.1:1 --model m
unset LINEAGE_JUDGE_KEY

# ---- one fault at a time ----
serve
ends judged none
must_have out '"flags":[1,0]'
must_have out '"prompt_tokens":100,"completion_tokens":10'
must_have requests '"form":true'
: >empty.jsonl
ask empty.jsonl
must_exit 0

for fault in 408 409 429 500 503 loading reset; do
    ends judged $fault
done
for fault in one fence think thought prose parts eos float; do
    ends judged $fault!
    must_have out '"flags":[1,0]'
    must_equal 1 "$(wc -l <requests)" "$fault, requests"
done
# The judge asks once more and says what was wrong; then it accepts the answer or gives up.
for fault in missing doubled schema two null reason utf8 huge html empty nochoice nofinish garbage; do
    ends judged $fault
    must_equal 4 "$(tail -n 1 requests | sed 's/.*"messages":\([34]\).*/\1/; s/3/4/')" "$fault, repair"
    ends failed $fault!
    must_equal 2 "$(wc -l <requests)" "$fault, requests"
    must_have out '"flags":null'
    must_have out 'two unusable answers'
done
ends truncated truncated!
ends refused filter!
ends refused refusal!
# A text that is too long for the model fails alone, in the words of OpenAI, llama-server and vLLM, and so does an answer that
# llama-server finds unlike the schema.
for fault in long size outgrown peg model; do
    { one "longer FAULT=$fault!" && one shorter; } >t.jsonl
    : >requests
    ask t.jsonl --no-cache --concurrency 1
    must_equal 'refused judged' "$(marks)" $fault
    must_equal 2 "$(wc -l <requests)" "$fault, requests"
done

# After these faults no further request is sent.
for i in 1 2 3 4 5 6 7 8 9; do one "stop $i"; done >many.jsonl
for fault in 400 401 403 404 quota redirect; do
    one "first FAULT=$fault!" | cat - many.jsonl >t.jsonl
    : >requests
    ask t.jsonl --no-cache --concurrency 1
    must_exit 1
    must_equal 10 "$(grep -c '"mark":"refused"' out)" "$fault"
    wanted=1
    case $fault in 400 | 404) wanted=2 ;; esac # once more in plain form
    must_equal $wanted "$(wc -l <requests)" "$fault, requests"
done

# ---- Retry-After is a lower bound; beyond the deadline the request fails ----
one 'w FAULT=after' >t.jsonl
: >requests
ask t.jsonl --no-cache
must_have out '"mark":"judged"'
at_least_a_second 'Retry-After in seconds'
one 'w FAULT=date' >t.jsonl
: >requests
ask t.jsonl --no-cache
must_have out '"mark":"judged"'
at_least_a_second 'Retry-After as a date'
one 'w FAULT=never!' >t.jsonl
ask t.jsonl --no-cache --deadline 5
must_have out '"mark":"failed"'
must_have out 'before the deadline, after 1 attempts: HTTP 503'

# ---- time ----
one 'slow FAULT=drip' >t.jsonl
ask t.jsonl --no-cache --timeout 0.5
must_have out '"mark":"judged"'
must_have out '"attempts":2'
one 'slow FAULT=drip!' >t.jsonl
ask t.jsonl --no-cache --timeout 0.4 --deadline 1.5
must_have out '"mark":"failed"'
run judge t.jsonl --endpoint http://127.0.0.1:1/v1 --model m --backoff 0.05 --deadline 0.5
must_exit 1
must_have out '"mark":"failed"'
must_have out 'connect'

# ---- the queue: the deadline of a waiting request does not run ----
serve --delay 100
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do one "queue $i"; done >t.jsonl
ask t.jsonl --no-cache --concurrency 3 --deadline 60 --timeout 60
must_exit 0
must_equal 20 "$(grep -c '"mark":"judged"' out)"
must_equal 3 "$(sed 's/.*"active":\([0-9]*\).*/\1/' requests | sort -n | tail -n 1)" 'requests at once'

# ---- the form of the answer ----
serve --no-form
for i in 1 2 3 4 5; do one "plain $i"; done >t.jsonl
ask t.jsonl --no-cache --concurrency 1
must_exit 0
must_equal 5 "$(grep -c '"flags":\[1,0\]' out)"
must_equal 6 "$(wc -l <requests)" 'refused once, then remembered'
must_equal 1 "$(grep -c '"form":true' requests)"
for i in 1 2 3 4 5; do one "plain at once $i"; done >t.jsonl
ask t.jsonl --no-cache --concurrency 5
must_exit 0
must_equal 5 "$(grep -c '"flags":\[1,0\]' out)"

# ---- models that reason refuse max_tokens and temperature 0 ----
serve --no-limit --no-cool --no-form
for i in 1 2 3 4 5; do one "reason $i"; done >t.jsonl
ask t.jsonl --no-cache --concurrency 1
must_exit 0
must_equal 5 "$(grep -c '"flags":\[1,0\]' out)"
must_equal 8 "$(wc -l <requests)" 'each refusal costs one request'
must_equal 5 "$(grep -c '"form":false.*"limit":"new","cool":false' requests)"
# The first judge to learn it writes it down, and the check does so before a night.
mkdir -p remembering && "$LINEAGE" init remembering --direction higher >/dev/null
run judge --check --endpoint "http://127.0.0.1:$port/v1" --model test -C remembering
must_exit 0
sed -i 's/[0-9.]* s, /0.0 s, /' out
must_have out 'answer       complete, after 4 attempts in 0.0 s, 100 + 10 tokens'
must_have out 'schema       refused; the prompt alone says how to answer'
must_have out 'token limit  max_completion_tokens'
must_have out 'temperature  that of the server, which refuses 0'
: >requests
ask t.jsonl -C remembering --concurrency 1
must_exit 0
must_equal 5 "$(wc -l <requests)" 'nothing is refused'
must_run -C remembering verify
serve
run judge --check --endpoint "http://127.0.0.1:$port/v1" --model test -C remembering
must_have out 'schema       accepted'
must_have out 'token limit  max_tokens'
must_fail 2 'takes no file' judge t.jsonl --check --endpoint "http://127.0.0.1:$port/v1" --model test
run judge --check --endpoint http://127.0.0.1:1/v1 --model m --backoff 0.05 --deadline 0.2
must_exit 1
must_have err 'does not answer as a judge'
# A response that is no HTTP fails its own row.
{ one 'first FAULT=garbage!' && one second; } >t.jsonl
ask t.jsonl --no-cache --concurrency 1
must_equal 'failed judged' "$(marks)"

# ---- the key ----
serve --key "$key"
one secret >t.jsonl
ask t.jsonl --no-cache
must_exit 1
must_have out 'HTTP 401'
export MY_KEY="$key"
mkdir -p keyed && "$LINEAGE" init keyed --direction higher >/dev/null
ask t.jsonl --key-env MY_KEY -C keyed
must_exit 0
must_have out '"mark":"judged"'
must_lack err 'without encryption'
LINEAGE_JUDGE_KEY=$key run judge t.jsonl --endpoint http://judge.invalid:8000/v1 --model m --deadline 0.2 --backoff 0.05
must_have err 'the key goes to judge.invalid:8000 without encryption'
for fault in echo 401 403; do
    one "secret FAULT=$fault!" >t.jsonl
    ask t.jsonl --key-env MY_KEY -C keyed
    must_exit 1
    must_lack out "$key"
    must_lack err "$key"
done
one "secret FAULT=echo!" >t.jsonl
ask t.jsonl --key-env MY_KEY -C keyed
must_have out '[key]'
must_equal '' "$(grep -rlF "$key" keyed)" 'files with the key'
one "secret FAULT=drip!" >t.jsonl
"$LINEAGE" judge t.jsonl --endpoint "http://127.0.0.1:$port/v1" --model m --key-env MY_KEY --deadline 20 >out 2>err &
asking=$!
sleep 0.5
tr '\0' ' ' <"/proc/$asking/cmdline" >cmdline 2>/dev/null || : >cmdline
must_lack cmdline "$key"
kill "$asking" 2>/dev/null
wait "$asking" 2>/dev/null
unset MY_KEY

# ---- TLS ----
serve --tls "$SOURCE/tests/judge/test-certificate.pem" "$SOURCE/tests/judge/test-key.pem"
cat many.jsonl >t.jsonl
run judge t.jsonl --endpoint "https://127.0.0.1:$port/v1" --model test --no-cache --concurrency 1
must_exit 1
must_equal 9 "$(grep -c '"mark":"refused"' out)" 'a certificate of nobody'
must_equal 0 "$(wc -l <requests)"
must_have out certificate
SSL_CERT_FILE=$SOURCE/tests/judge/test-certificate.pem && export SSL_CERT_FILE
run judge t.jsonl --endpoint "https://127.0.0.1:$port/v1" --model test --no-cache
must_exit 0
must_equal 9 "$(grep -c '"mark":"judged"' out)" 'a certificate of ours'
SSL_CERT_FILE=$PWD/nowhere.pem
run judge t.jsonl --endpoint "https://127.0.0.1:$port/v1" --model test --no-cache --concurrency 1
must_exit 1
must_have out 'Debian: ca-certificates'
unset SSL_CERT_FILE
serve
run judge t.jsonl --endpoint "https://127.0.0.1:$port/v1" --model test --no-cache --deadline 1 --backoff 0.1
must_exit 1
must_equal 9 "$(grep -c '"mark":"failed"' out)" 'no TLS there'

# ---- which trajectories are sent ----
{
    one one 1 | sed 's/"id"/"group": 1, "id"/'
    one two 0 | sed 's/"id"/"group": 1, "id"/'
    one three 0 | sed 's/"id"/"group": "b", "id"/'
    one four 0 | sed 's/"id"/"group": "b", "id"/'
} >t.jsonl
ask t.jsonl --no-cache --skip small_adv
must_exit 0
must_equal 'judged judged skipped skipped' "$(marks)"
ask t.jsonl --no-cache --skip all_neg --unjudged outcome
must_equal 'judged skipped skipped skipped' "$(marks)"
must_equal 3 "$(grep -c '"flags":\[0,0\]' out)"
must_have err '1 judged, 0 cached, 3 skipped'

# ---- the cache ----
mkdir -p store && "$LINEAGE" init store --direction higher >/dev/null
for i in 1 2 3 4 5 6; do one "again $((i % 3))"; done >t.jsonl
: >requests
ask t.jsonl -C store
must_exit 0
must_equal 3 "$(grep -c '"mark":"judged"' out)" 'equal questions are asked once'
must_equal 3 "$(grep -c '"mark":"cached"' out)"
must_equal 3 "$(wc -l <requests)"
ask t.jsonl -C store
must_equal 6 "$(grep -c '"mark":"cached"' out)"
must_equal 6 "$(grep -c '"flags":\[1,0\]' out)"
must_equal 3 "$(wc -l <requests)"
must_equal 3 "$(wc -l <store/judge-cache.jsonl)"
must_run -C store verify
printf '{"version": "mine", "success": "Other words."}' >words.json
ask t.jsonl -C store --prompt words.json
must_equal 3 "$(grep -c '"mark":"judged"' out)" 'other words are another question'
# Two judges at once, one of them killed: the lines of the other are complete.
awk 'BEGIN { for (i = 0; i < 60; i++) printf "{\"task\": \"kill %d\", \"reward\": 0, \"steps\": [{\"action\": \"good\"}]}\n", i }' >t.jsonl
serve --delay 20
rm -f store/judge-cache.jsonl
"$LINEAGE" judge t.jsonl -C store --endpoint "http://127.0.0.1:$port/v1" --model test --concurrency 2 >killed 2>&1 &
victim=$!
sleep 0.3
kill -KILL "$victim"
wait "$victim" 2>/dev/null
printf '{"request":"0000' >>store/judge-cache.jsonl
paid=$(grep -c '"flags"' store/judge-cache.jsonl)
ask t.jsonl -C store
must_exit 0
must_equal "$paid" "$(grep -c '"mark":"cached"' out)" 'what was paid for before the kill'
must_equal $((60 - paid)) "$(grep -c '"mark":"judged"' out)"

# ---- two hundred trajectories, a fifth of them with a fault ----
serve
awk 'BEGIN {
    n = split("429 500 503 408 409 reset missing doubled schema null utf8 huge prose one html truncated! missing! null! filter! schema!", fault, " ")
    for (i = 0; i < 200; i++) {
        printf "{\"id\": %d, \"task\": \"many %d%s\", \"reward\": %d, \"steps\": [", i, i,
            i % 5 == 0 ? " FAULT=" fault[int(i / 5) % n + 1] : "", i % 2
        flags = ""
        for (k = 0; k <= i % 7; k++) {
            good = (i * 7 + k) % 3 == 0
            printf "%s{\"action\": \"%s\", \"observation\": \"%d\"}", k ? ", " : "", good ? "good" : "bad", k
            flags = flags (k ? "," : "") good
        }
        print "]}"
        mark = "judged"
        f = i % 5 == 0 ? fault[int(i / 5) % n + 1] : ""
        if (f == "truncated!") mark = "truncated"
        else if (f == "filter!") mark = "refused"
        else if (f ~ /!/) mark = "failed"
        print i, mark, mark == "judged" ? "[" flags "]" : "null" >"wanted"
    }
}' >t.jsonl
ask t.jsonl --no-cache --max-failed-share 0.1
must_exit 0
must_equal 200 "$(wc -l <out)" 'none is lost'
sed 's/{"id":\([0-9]*\),"mark":"\([a-z]*\)","flags":\(null\|\[[01,]*\]\),.*/\1 \2 \3/' out >got
must_match_file wanted got
must_have err '190 judged, 0 cached, 0 skipped, 2 refused, 2 truncated, 6 failed'
ask t.jsonl --no-cache --max-failed-share 0.01
must_exit 1
exec 9>&-
wait
finish
