#!/bin/sh
# secrets.sh: what `lineage run` and `append` do not keep: files that look secret, passwords and tokens in commands, variables
# and parameters, keys of the program itself; and the rights of what they do keep.
. "$SOURCE/tests/support/shell.sh"
command -v git >/dev/null || skip "git is not installed"
GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM
umask 022

git init -q code
git -C code -c user.name=a -c user.email=a@b commit -q --allow-empty -m begin
cd code || exit 3
printf 'out\nerr\nseen\n' >.git/info/exclude
echo tracked-before >.env.shared
echo x >train.py
git add -f .env.shared train.py
git -c user.name=a -c user.email=a@b commit -q -m files
echo tracked-after-7a1 >.env.shared
echo y >train.py
echo SECRET=untracked-9b2 >.env
echo private-key-4c3 >id_rsa
mkdir sub && echo pem-5d4 >sub/tls.pem
echo ordinary >helper.py
printf '#!/bin/sh\n' >go.sh
echo readonly >data.txt
chmod 600 .env id_rsa helper.py
chmod 755 go.sh
chmod 444 data.txt
must_run init ../s --direction lower

# ---- files ----
run run -C ../s -m loss -- echo loss 1
must_exit 0
must_have err 'copied 3 untracked files to provenance; left out as secret: .env.shared, .env, id_rsa, sub/tls.pem'
cd .. || exit 3
must_equal 'data.txt go.sh helper.py' "$(cd s/provenance/000/untracked && echo *)"
must_equal '' "$(grep -rl 'tracked-after-7a1\|untracked-9b2\|private-key-4c3\|pem-5d4' s)" "files with a secret"
must_have s/provenance/000/unstaged.diff '+y'
must_equal '700 700 700 600 600 600 700 400' "$(stat -c %a s/provenance s/provenance/000 s/provenance/.files s/provenance/000/run.json \
    s/provenance/000/unstaged.diff s/provenance/000/untracked/helper.py s/provenance/000/untracked/go.sh s/provenance/000/untracked/data.txt | xargs)"
code=$("$JSON_GET" git.code <s/provenance/000/run.json)
must_equal yes "$(git -C code ls-tree -r --name-only "$code" | grep -qx helper.py && echo yes)" "the commit has the other files"
must_equal 'tracked-before' "$(git -C code show "$code:.env.shared")"
must_equal '' "$(git -C code ls-tree -r --name-only "$code" | grep -x '.env\|id_rsa\|sub/tls.pem')" "secret files in the commit"
# A directory of an older version is closed, one that was opened to the group is not.
chmod 755 s/provenance
(cd code && "$LINEAGE" run -q -C ../s -m loss -- echo loss 1 >/dev/null)
must_equal 700 "$(stat -c %a s/provenance)"
chmod 775 s/provenance
(cd code && "$LINEAGE" run -q -C ../s -m loss -- echo loss 1 >/dev/null)
must_equal 770 "$(stat -c %a s/provenance)"
# Patterns of the store.
printf '{"direction": "lower", "secret_files": ["*.py", "!.env"], "harmless_names": ["api_key"]}\n' >s/lineage.json
(cd code && "$LINEAGE" run -C ../s -m loss -- echo loss 1 >../out 2>../err)
must_have err 'left out as secret: .env.shared, train.py, helper.py, id_rsa, sub/tls.pem'
must_equal '.env data.txt go.sh' "$(cd s/provenance/003/untracked && find . -type f | sort | sed 's,^\./,,' | xargs)"
printf '{"direction": "lower", "secret_files": "x"}\n' >bad.json
mkdir bad && mv bad.json bad/lineage.json
must_fail 2 'secret_files must be a list' -C bad best

# ---- commands, variables ----
cd code || exit 3
run run -q -C ../s -m loss --env DB=postgres://ann:hunter2@host/db --env MY_TOKEN=abcdef --env PLAIN=1 \
    --eval 'echo loss 1 --api-key=zzz888' -- sh -c 'echo "$0 $2 $4" >seen; echo "$DB $MY_TOKEN" >>seen' https://u:pw77@h/x --password pw88 \
    --header 'Authorization: Bearer pw99'
must_exit 0
cd .. || exit 3
must_equal 'https://u:pw77@h/x pw88 Authorization: Bearer pw99' "$(head -n 1 code/seen)"
must_equal 'postgres://ann:hunter2@host/db abcdef' "$(tail -n 1 code/seen)"
must_equal '' "$(grep -rl 'hunter2\|abcdef\|pw77\|pw88\|pw99\|zzz888' s/provenance s/results.tsv s/lineage.db s/snapshots)" "masked texts"
must_have s/provenance/004/run.json '"https://u:***@h/x"'
must_have s/provenance/004/run.json '"masked": true'
must_fail 2 'its command had a secret' rerun 004 -C s --here
# The program's own keys do not reach a trial, but a variable of --env does.
LINEAGE_JUDGE_KEY=own-1 PGPASSWORD=own-2 "$LINEAGE" run -q -C s -m loss --no-refs --env PGPASSWORD=given -- \
    sh -c 'echo "[$LINEAGE_JUDGE_KEY] [$PGPASSWORD]" >seen; echo loss 1' >/dev/null
must_equal '[] [given]' "$(cat seen)"
LINEAGE_JUDGE_KEY=own-1 PGPASSWORD=own-2 "$LINEAGE" run -q -C s -m loss --no-refs --preflight 'env >early' -- \
    sh -c 'env >seen; echo loss 1' >/dev/null
must_equal '' "$(grep -h 'own-1\|own-2' seen early)" "keys in the environment of a trial"

# ---- parameters ----
rows=$(wc -l <s/results.tsv)
must_fail 2 "the parameter 'hf_token' is the name of a secret" run -q -C s -p hf_token=abc -- echo loss 1
must_fail 2 "the parameter 'db' has a URL with a password" run -q -C s -p db=http://a:b@c -- echo loss 1
must_fail 2 "the parameter 'password' is the name" append -C s --status auto --core-metric 1 --param password=12
must_fail 2 "the parameter 'note' has a value with the form of a token" append -C s --status auto --core-metric 1 \
    --param note=ghp_Zx81kQ0aPq7Lm2Rt9Vw4aaaaaaaaaaaaaaaa
must_equal "$rows" "$(wc -l <s/results.tsv)" "refused rows"
must_run append -C s --status crash --param api_key=3 --param max_tokens=4096 --param pad_token=PAD

# ---- a directory that the user freezes ----

mkdir -p frozen/sub && echo x >frozen/weights && echo KEY=1 >frozen/.env && echo k >frozen/sub/id_rsa
run append -C s --status keep --core-metric 1 --hypothesis frozen --snapshot frozen
must_exit 0
must_have err 'warning: a snapshot keeps these files of frozen, which look secret: '
must_have err sub/id_rsa
rm frozen/.env frozen/sub/id_rsa
run append -C s --status keep --core-metric 1 --hypothesis frozen --snapshot frozen
must_exit 0
must_lack err secret
finish
