#!/bin/sh
# layering_breaches.sh: layering.sh finds each kind of breach, and names file, line and rule.
. "$SOURCE/tests/support/shell.sh"

last=layering.sh
mkdir tree
cp -R "$SOURCE/src" "$SOURCE/cli" "$SOURCE/include" tree/
sh "$SOURCE/tests/layering.sh" tree >before || fail "the project itself: $(cat before)"

# breaks FILE LINE TEXT...: adds LINE to FILE, expects every TEXT in the output, and restores FILE.
breaks()
{
    file=tree/$1 line=$2
    shift 2
    cp "$file" kept 2>/dev/null || : >kept
    mkdir -p "$(dirname "$file")"
    printf '%s\n' "$line" >>"$file"
    sh "$SOURCE/tests/layering.sh" tree >out 2>err && fail "not seen: $line in $file"
    for text in "$@"; do
        must_have out "$text"
    done
    must_have out "${file#tree/}"
    if [ -s kept ]; then cp kept "$file"; else rm "$file"; fi
}

at=$(($(wc -l <tree/src/store/log/log_file.c) + 1))
breaks src/store/log/log_file.c '#include "../mirror/mirror.h"' \
    "src/store/log/log_file.c:$at: src/store/log may not enter src/store/mirror (it includes src/store/mirror/mirror.h)" \
    "a circle of rooms: "
breaks src/store/render/native.c '#include "../mirror/mirror.h"' "src/store/render may not enter src/store/mirror"
breaks src/store/append/import.c '#include "../mirror/private.h"' '"../mirror/private.h" is not a file'
breaks src/store/format/tsv.c '#include <rlcore/loss.h>' "src/store/format may not enter include/rlcore"
breaks include/rlcore/loss.h '#include <lineage/trial.h>' "include/rlcore may not enter include/lineage"
breaks src/rlcore/loss/ppo.c '#include "../adca/adca_internal.h"' "src/rlcore/loss may not enter src/rlcore/adca"
breaks src/trainer/run/other.c '#include "../learn/objective_internal.h"' "is not a file of this part"
breaks cli/commands/cmd_best.c '#include "../../src/store/mirror/mirror.h"' "cli/commands may not enter src/store/mirror"
breaks cli/output/show.c '#include "commands/append_request.h"' "cli/output may not enter cli/commands"
breaks cli/commands/cmd_best.c '#include "report/report_axes.h"' "report_axes.h is private to cli/report; its doors are"
breaks src/store/report/report.c ' #  include <sqlite3.h>' "sqlite3.h may be seen by src/store/mirror src/store/questions src/store/verify"
breaks cli/commands/cmd_best.c '#include <sqlite3.h>' "sqlite3.h may be seen by"
breaks src/rlcore/loss/ppo.c 'double RL(rl_ppo)(double x);' "hide names from grep"
breaks cli/sweep/night_sweep.h '#include "sweep/trial_list.h"' \
    "cli/sweep: these files include each other in a circle: " "cli/sweep/trial_list.h:"
breaks src/store/audit/audit.c '#include "../internal.h"' "its room src/store/audit is not in the table"
breaks src/store/log/tsv.c '/* another */' "files of one name: src/store/format/tsv.c src/store/log/tsv.c"

# A table that is out of date is one as well.
mv tree/src/store/render tree/render
sh "$SOURCE/tests/layering.sh" tree >out 2>err && fail "a room that is gone"
must_have out "the table names src/store/render, which is not there"
mv tree/render tree/src/store/render
mv tree/src/store/questions/questions.h tree/src/store/questions/door.h
sh "$SOURCE/tests/layering.sh" tree >out 2>err && fail "a door that is gone"
must_have out "the table names a door questions.h of src/store/questions, which is not there"
mv tree/src/store/questions/door.h tree/src/store/questions/questions.h
sed '/^circles()$/,/^}$/s/^END$/cli\/sweep forecast trial_list\n&/' "$SOURCE/tests/layering.sh" >stale.sh
sh stale.sh tree >out 2>err && fail "a circle that is gone"
must_have out "cli/sweep/forecast is in no circle any more"

# circles.sh sees a circle that no include shows.
objects=src/store/CMakeFiles/x.dir
mkdir -p $objects/log $objects/mirror
echo 'void b(void); void a(void); void a(void) { b(); }' | ${CC:-cc} -xc -c -o $objects/log/a.c.o -
echo 'void c(void); void b(void); void b(void) { c(); }' | ${CC:-cc} -xc -c -o $objects/mirror/b.c.o -
echo 'void c(void); void c(void) { }' | ${CC:-cc} -xc -c -o $objects/log/c.c.o -
sh "$SOURCE/tests/circles.sh" $objects/log/[ac].c.o || fail "two files of a room are a circle"
sh "$SOURCE/tests/circles.sh" $objects/*/*.c.o >out && fail "no circle was seen"
must_have out "a circle of rooms: store/log store/mirror"
finish
