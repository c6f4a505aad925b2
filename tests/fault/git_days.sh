# A marathon of days with git: random git commands and kills between trials, in ROUNDS rounds (default 20). No acknowledged row is lost,
# no id is given twice, and the code of each kept trial comes back byte for byte. SEED repeats the choices.
. "$SOURCE/tests/support/shell.sh"
rounds=${ROUNDS:-20} seed=${SEED:-7}
GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
export GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

# draw N: a number below N in $drawn.
draw()
{
    seed=$(((seed * 1103515245 + 12345) % 2147483648))
    drawn=$((seed / 65536 % $1))
}

git init -q p && cd p || exit 3
echo 'echo METRIC loss=$(wc -c <v)' >t.sh
echo 0000000000000000000000000000000000000000 >v
git add . && git commit -qm begin
"$LINEAGE" init runs --direction lower
: >../acknowledged
round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    draw 12
    case $drawn in
    0) git reset -q --hard HEAD~1 ;;
    1) git clean -qfdx ;;
    2) git checkout -q -B "b$round" ;;
    3) git checkout -q master ;;
    4) touch new && git stash -q -u && git stash pop -q ;;
    5) git add -A && git commit -qm all ;;
    6) git rebase -q --onto HEAD~2 HEAD~1 || git rebase --abort ;;
    7) git worktree add -q ../wt && (cd ../wt && "$LINEAGE" run -C ../p/runs -q -m loss -- sh t.sh >>../ids) && git worktree remove --force ../wt ;;
    8) git gc -q --prune=now ;;
    9) rm -f runs/results.tsv ;;
    10) [ ! -e runs/results.tsv ] || sed -i '$d' runs/results.tsv ;;
    11) cd .. && mv p q && mv q p && cd p || exit 3 ;;
    esac >/dev/null 2>&1
    [ -s runs/results.tsv ] || "$LINEAGE" restore -C runs >/dev/null 2>&1
    [ -e runs/lineage.json ] || "$LINEAGE" init runs --direction lower # git took a store without rows; one with rows refuses this
    [ -e t.sh ] || git checkout -q -f master
    draw 30
    printf '%s %0*d\n' "$round" $((drawn + 1)) 0 >v
    draw 2
    [ "$drawn" = 0 ] || git commit -qam "round $round" >/dev/null 2>&1
    draw 4
    if [ "$drawn" = 0 ]; then # killed somewhere
        "$LINEAGE" run -C runs -q -m loss -- sh t.sh >../killed 2>/dev/null &
        victim=$!
        draw 20
        sleep "0.0$((drawn + 10))"
        kill -9 $victim 2>/dev/null
        wait $victim 2>/dev/null
        cat ../killed >>../ids
        continue
    fi
    cp v ../v
    id=$("$LINEAGE" run -C runs -q -m loss -- sh t.sh 2>>../err)
    echo "$id" >>../ids
    must_equal "$(cat ../v)" "$(git show "refs/lineage/$id:v" 2>&1)" "round $round: the code of $id"
    echo "$id $(tr ' \n' '__' <../v)" >>../acknowledged
done
"$LINEAGE" restore -C runs >/dev/null 2>&1
sed 1d runs/results.tsv | cut -f 1 | sort >../there
grep . ../ids | sort >../given
must_equal '' "$(uniq -d <../given)" 'ids that were given twice'
must_equal '' "$(uniq -d <../there)" 'rows with one id'
must_equal '' "$(sort -u ../given | comm -23 - ../there)" 'acknowledged rows that are lost'
while read -r id code; do
    must_equal "$code" "$(git show "refs/lineage/$id:v" 2>&1 | tr ' \n' '__')" "the code of $id at the end"
done <../acknowledged
cd ..
finish
