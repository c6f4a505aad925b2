# enospc.sh: a disk that is really full: appends to a small tmpfs until it is full, then frees space. Needs the right to mount.
set -u
: "${LINEAGE:?}"
dir=$(mktemp -d)
cleanup() { umount "$dir" 2>/dev/null; rmdir "$dir" 2>/dev/null; }
trap cleanup EXIT
if ! mount -t tmpfs -o size=256k tmpfs "$dir" 2>/dev/null; then
    echo "SKIP: cannot mount a small filesystem here"
    exit 77
fi
fill=$(head -c 9000 /dev/zero | tr '\0' x)
n=0
while "$LINEAGE" -C "$dir" append --create --status discard --no-sync --core-metric 1 --hypothesis "$fill" >/dev/null 2>"$dir.err"; do
    n=$((n + 1))
    [ "$n" -lt 200 ] || { echo "FAIL: the disk never filled"; exit 1; }
done
grep -q 'No space left' "$dir.err" || { echo "FAIL: the message does not say so: $(cat "$dir.err")"; exit 1; }
rm -f "$dir.err"
rows=$(($(wc -l <"$dir/results.tsv") - 1))
[ "$rows" -eq "$n" ] || { echo "FAIL: $n rows acknowledged, $rows in the file"; exit 1; }
[ "$(tail -c 1 "$dir/results.tsv" | od -An -c | tr -d ' ')" = '\n' ] || { echo "FAIL: torn end"; exit 1; }
"$LINEAGE" -C "$dir" verify 2>/dev/null | grep -q "^checked: $n rows" || { echo "FAIL: verify does not check the rows of a full disk"; exit 1; }
mount -o remount,size=4m "$dir"
"$LINEAGE" -C "$dir" append --status keep --core-metric 0.5 --hypothesis after >/dev/null || { echo "FAIL: no append after room was made"; exit 1; }
"$LINEAGE" -C "$dir" verify || { echo "FAIL: the store does not verify"; exit 1; }
echo "ok: $n rows until the disk was full, none lost"
