#!/bin/sh
# layering.sh: which room of the project may include which, held against every #include line of src, cli and include;
# and no circle among the files of one room.
#
# usage: sh tests/layering.sh [ROOT]      (default: this checkout; exit status 0 if all holds, else one line per breach)
#
# A room is a folder, or the files named. Its doors are the headers that other rooms may include (- none, * all); all
# other headers are its own affair. It may enter the rooms listed, through their doors.
table()
{
    cat <<'END'
# room                     doors                       may enter
include/lineage            *                           -
include/rlcore             *                           -
include/trainer            *                           -
include/rlcase             *                           include/rlcore

# The store: bytes at the bottom, answers at the top. store.c opens one and so knows its parts.
src/store/fail.h           *                           include/lineage
src/store/clock.h          *                           -
src/store/internal.h       *                           include/lineage src/store/fail.h
src/store/format           *                           include/lineage src/store/fail.h src/store/internal.h
src/store/files            fs.h places.h state_dir.h snapshot.h telemetry.h    include/lineage src/store/fail.h src/store/internal.h src/store/format
src/store/log              log.h log_file.h digest_chain.h redactions.h    include/lineage src/store/fail.h src/store/clock.h src/store/format src/store/files
src/store/postgres         log_postgres.h pg.h server_name.h   include/lineage src/store/fail.h src/store/clock.h src/store/format src/store/files src/store/log
src/store/mirror           mirror.h seqs.h statement.h connection.h ancestors.h   include/lineage src/store/internal.h src/store/format src/store/files src/store/log
src/store/questions        questions.h                 include/lineage src/store/internal.h src/store/clock.h src/store/format src/store/log src/store/mirror
src/store/settings         ask_settings.h              include/lineage src/store/internal.h src/store/log src/store/mirror src/store/questions src/store/ideas
src/store/search           -                           include/lineage src/store/internal.h src/store/format src/store/mirror src/store/questions src/store/settings
src/store/code             code_offer.h   include/lineage src/store/internal.h src/store/format src/store/files src/store/log src/store/mirror src/store/questions src/store/blobs
src/store/statistics       student.h odds.h quantiles.h  include/lineage src/store/fail.h src/store/format
src/store/evidence         -                           include/lineage src/store/fail.h src/store/format src/store/questions src/store/statistics
src/store/append           acknowledged.h append_state.h judge_again.h outbox_file.h receipts.h  include/lineage src/store/fail.h src/store/internal.h src/store/clock.h src/store/format src/store/files src/store/log src/store/mirror src/store/questions src/store/blobs src/store/code
src/store/blobs            blobs.h                     include/lineage src/store/fail.h src/store/internal.h src/store/format src/store/files src/store/log src/store/postgres src/store/mirror src/store/questions
src/store/queue            -                           include/lineage src/store/fail.h src/store/internal.h src/store/clock.h src/store/format src/store/files src/store/log src/store/postgres
src/store/ideas            ideas_rows.h                       include/lineage src/store/fail.h src/store/internal.h src/store/format src/store/files src/store/mirror src/store/questions src/store/measured
src/store/measured         collecting.h                include/lineage src/store/fail.h src/store/internal.h src/store/format src/store/files src/store/mirror src/store/questions
src/store/move             -                           include/lineage src/store/internal.h src/store/format src/store/files src/store/log src/store/mirror src/store/questions
src/store/compare          -                           include/lineage src/store/internal.h src/store/format src/store/questions src/store/statistics src/store/settings
src/store/report           -                           include/lineage src/store/internal.h src/store/format src/store/files src/store/log src/store/mirror src/store/questions
src/store/facts            -                           include/lineage src/store/fail.h src/store/format
src/store/render           -                           include/lineage src/store/internal.h src/store/format src/store/files
src/store/redact           -                           include/lineage src/store/fail.h src/store/internal.h src/store/format src/store/files src/store/log src/store/append
src/store/verify           -                           include/lineage src/store/internal.h src/store/format src/store/files src/store/log src/store/mirror src/store/questions src/store/append src/store/blobs src/store/code
src/store                  -                           include/lineage src/store/fail.h src/store/internal.h src/store/format src/store/files src/store/log src/store/postgres src/store/mirror src/store/questions src/store/settings src/store/append src/store/blobs

# Inner loops for several vector levels: of the core and of the trainer.
src/hot                    *                           include/rlcore

# The training core: topics beside each other, over what they share.
src/rlcore/support/single_names.h   *                  include/rlcore
src/rlcore/support         *                           include/rlcore src/rlcore/support/single_names.h src/hot
src/rlcore/loss            loss_internal.h segment.h   include/rlcore src/rlcore/support
src/rlcore/correction      correction_internal.h       include/rlcore src/rlcore/support
src/rlcore/routing         routing_internal.h          include/rlcore src/rlcore/support
src/rlcore/a2tgpo          -                           include/rlcore src/rlcore/support src/rlcore/loss
src/rlcore/compose         -                           include/rlcore src/rlcore/support src/rlcore/correction src/rlcore/routing
src/rlcore/diagnostics     -                           include/rlcore src/rlcore/support src/rlcore/correction
src/rlcore/adca            -                           include/rlcore src/rlcore/support
src/rlcore/advantage       -                           include/rlcore src/rlcore/support
src/rlcore/algorithm       -                           include/rlcore src/rlcore/support
src/rlcore/distill         -                           include/rlcore src/rlcore/support
src/rlcore/envelope        -                           include/rlcore src/rlcore/support
src/rlcore/length          -                           include/rlcore src/rlcore/support
src/rlcore/pack            -                           include/rlcore src/rlcore/support
src/rlcore/passk           -                           include/rlcore src/rlcore/support
src/rlcore/process         -                           include/rlcore src/rlcore/support
src/rlcore/stream          -                           include/rlcore src/rlcore/support

# Kernels by name: adapters over the core's public headers, and the names of its functions for float.
src/rlcase                 -                           include/rlcase include/rlcore src/rlcore/support/single_names.h

# The trainer: environments and a policy, rollouts of it, learning from them, credit for them, a run.
src/trainer/support        *                           include/trainer include/rlcore
src/trainer/env            -                           include/trainer src/trainer/support
src/trainer/recipe         recipe_needs.h recipe_variants.h include/trainer include/rlcore src/trainer/support
src/trainer/policy         experts.h kernels.h layout.h precision.h   include/trainer include/rlcore src/hot src/trainer/support
src/trainer/rollout        data_set.h rollouts.h evaluate.h question_allocation.h sampler.h  include/trainer include/rlcore src/trainer/support src/trainer/policy
src/trainer/learn          learner.h minibatch.h minibatch_loss.h warm_start.h  include/trainer include/rlcore src/trainer/support src/trainer/policy src/trainer/rollout
src/trainer/credit         credit.h judging.h          include/trainer include/rlcore src/trainer/support src/trainer/rollout
src/trainer/references     reference_policies.h sampler_weights.h  include/trainer include/rlcore src/trainer/support src/trainer/recipe src/trainer/rollout src/trainer/learn
src/trainer/run            -                           include/trainer include/rlcore src/trainer/support src/trainer/recipe src/trainer/rollout src/trainer/learn src/trainer/credit src/trainer/references

# The programs: public headers only. A command may use every room, no room a command.
cli/cli.h                  *                           include/lineage
cli/support                *                           include/lineage cli/cli.h
cli/output                 *                           include/lineage cli/cli.h cli/support
cli/propose                propose.h propose_ranges.h propose_past.h propose_answer.h propose_math.h propose_space.h gp.h   include/lineage cli/cli.h cli/support cli/output
cli/metrics                *                           include/lineage cli/cli.h
cli/git                    *                           cli/cli.h cli/support cli/trial
cli/trial                  *                           include/lineage cli/cli.h cli/support cli/output cli/metrics
cli/run                    *                           include/lineage cli/cli.h cli/support cli/output cli/metrics cli/trial cli/git cli/histories cli/propose
cli/judge                  answer.h chat.h endpoint.h judge.h cache.h score_cache.h trajectory.h wording.h   include/trainer cli/cli.h
cli/recipe                 *                           include/lineage include/rlcore include/trainer cli/cli.h cli/support cli/output cli/metrics cli/trial cli/judge cli/propose
cli/sweep                  *                           include/lineage cli/cli.h cli/propose cli/git cli/trial cli/run
cli/share                  *                           include/lineage cli/cli.h cli/propose cli/trial cli/sweep
cli/plan                   *                           include/lineage cli/cli.h cli/support cli/output cli/propose cli/trial cli/sweep cli/share
cli/night                  night.h        include/lineage cli/cli.h cli/support cli/output cli/trial cli/run cli/report cli/sweep cli/share cli/plan
cli/recipe_night           night_recipes.h             include/lineage include/trainer cli/cli.h cli/trial cli/recipe cli/sweep
cli/mcp                    mcp.h                       include/lineage cli/cli.h cli/support cli/output cli/propose cli/git
cli/report                 html_escape.h html_page.h report_model.h   include/lineage cli/cli.h cli/output
cli/histories              history.h history_rows.h   include/lineage cli/cli.h cli/support
cli/serve                  live_server.h                    include/lineage cli/cli.h cli/support cli/report
cli/commands               commands.def                include/lineage include/rlcore include/trainer include/rlcase cli/cli.h cli/support cli/output cli/propose cli/git cli/trial cli/run cli/judge cli/recipe cli/sweep cli/share cli/plan cli/night cli/recipe_night cli/mcp cli/report cli/serve cli/histories
cli/man                    guides.def                  -
cli                        -                           include/lineage include/rlcore cli/cli.h cli/support cli/commands cli/man
END
}

# Libraries of others, and the rooms that may see them. What is not named here is C, POSIX or Linux.
libraries()
{
    cat <<'END'
sqlite3.h    src/store/mirror src/store/questions src/store/verify src/store/search src/store/ideas src/store/measured cli/histories
csv.h        src/store/format cli/histories cli/metrics cli/recipe
utf8proc.h   src/store/format src/store/ideas src/store/search cli/output
uthash.h     src/store/append src/store/ideas src/store/code cli/judge cli/report
sha2.h       src/store/redact src/store/log src/store/blobs src/store/code src/store/append
libpq-fe.h   src/store/postgres
xxhash.h     src/store/append src/store/evidence src/store/format src/store/ideas src/store/measured src/store/mirror src/store/verify src/store/postgres src/store/render src/trainer/policy src/trainer/recipe src/trainer/run cli/sweep cli/recipe_night cli/run cli/judge cli/git
jansson.h    src/store/redact src/store/blobs src/store/format src/store/files src/store/append src/store/measured src/store/mirror src/store/queue src/store/report src/store/verify src/trainer/recipe src/trainer/rollout cli/cli.h cli/support cli/output cli/propose cli/metrics cli/git cli/trial cli/run cli/judge cli/recipe cli/sweep cli/share cli/plan cli/mcp cli/report cli/serve cli/histories cli/commands src/rlcase
microhttpd.h cli/serve
curl/curl.h  cli/judge
cblas.h      src/trainer/policy src/trainer/rollout
omp.h        src/trainer/support
popt.h       cli/cli.h
pcre2.h      cli/metrics
END
}

# Files of one name: the subject is the same, or the name says so.
same_names()
{
    cat <<'END'
CMakeLists.txt  CMake knows no other name
status.h        what every function returns, one for each library
abi.c           the layout of the structs, one for each library
abi.h           the layout of the structs, one for each library
blobs.h         the public header, and what an append needs
status.c        the texts of it
clock.h         one for the store and one for the trainer
fail.h          filling the error of a library, one for the store and one for the core
render.h        the public header, and what its printers share
snapshot.h      the public header, and the files behind it
judge.h         what the trainer asks of a judge, and the judge
END
}

# Circles that are still there: a room, and the files that include each other, a header and its source being one file.
# A circle is removed by splitting a header; then its files are removed here. No room may be added.
circles()
{
    cat <<'END'
END
}

root=${1:-$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)}
cd "$root" || exit 2
LC_ALL=C
export LC_ALL
{
    table | sed '/^#/d; /^$/d; s/^/ROOM /'
    libraries | sed 's/^/LIBRARY /'
    same_names | sed 's/^/SAME /'
    circles | sed 's/^/CIRCLE /'
    find src cli include -name '*.[ch]' -o -name '*.def' | sort | sed 's/^/FILE /'
    # File:line:text of includes, and of macros that would make a function's name.
    find src cli include -name '*.[ch]' | sort | xargs grep -nE '^[[:space:]]*#[[:space:]]*include|(^|[^A-Za-z0-9_])(RL|TR)\(' |
        sed 's/^/LINE /'
} | awk '
function breach(text) { print text; breaches++ }
function base(path) { sub(/.*\//, "", path); return path }
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }

# The room of a file: the file itself if it has an entry, else its folder, whether that has one or not.
function room_of(path) { return path in doors ? path : folder(path) }

# a/b/../c is a/c.
function plain(path,    n, part, out, i, top) {
    n = split(path, part, "/")
    for (i = 1; i <= n; i++)
        if (part[i] == ".." && top > 0) top--
        else if (part[i] != ".") out[++top] = part[i]
    path = out[1]
    for (i = 2; i <= top; i++) path = path "/" out[i]
    return path
}

# A quoted name beside its includer, or from the top of its part of the tree, as the build has it.
function resolve(from, name,    part, n) {
    if (plain(folder(from) "/" name) in file) return plain(folder(from) "/" name)
    n = split(from, part, "/")
    if (part[1] == "src" && (plain(part[1] "/" part[2] "/" name) in file)) return plain(part[1] "/" part[2] "/" name)
    if (part[1] == "src" && (plain("src/" name) in file)) return plain("src/" name)
    if (part[1] == "cli" && (plain("cli/" name) in file)) return plain("cli/" name)
    return ""
}

# A header and its source are one subject.
function subject(path) { path = base(path); sub(/\.[ch]$/, "", path); return path }

function note_neighbour(where, room, from, to) {
    if (from == to || (room, from, to) in neighbour) return
    neighbour[room, from, to] = where
    neighbours_of[room, from] = neighbours_of[room, from] " " to
    if (!((room, from) in subject_seen)) { subject_seen[room, from] = 1; subjects_of[room] = subjects_of[room] " " from }
}

# Whether `to` can be reached from `from` by includes of this room. Fills reached[], which the caller clears.
function reaches(room, from, to,    n, next_ones, i) {
    n = split(neighbours_of[room, from], next_ones, " ")
    for (i = 1; i <= n; i++) {
        if (next_ones[i] == to) return 1
        if (next_ones[i] in reached) continue
        reached[next_ones[i]] = 1
        if (reaches(room, next_ones[i], to)) return 1
    }
    return 0
}

# The files of a room that include themselves by way of others.
function check_circles(room,    n, names_here, i, j, m, others, found, by) {
    n = split(subjects_of[room], names_here, " ")
    found = by = ""
    for (i = 1; i <= n; i++) {
        split("", reached)
        if (reaches(room, names_here[i], names_here[i])) {
            if (index(" " allowed[room] " ", " " names_here[i] " ") == 0) found = found " " names_here[i]
            else still[room, names_here[i]] = 1
        }
    }
    m = split(found, others, " ")
    for (i = 1; i <= m; i++)
        for (j = 1; j <= m; j++)
            if ((room, others[i], others[j]) in neighbour) by = by " " neighbour[room, others[i], others[j]]
    if (found != "") breach(room ": these files include each other in a circle:" found "; at" by)
    n = split(allowed[room], names_here, " ")
    for (i = 1; i <= n; i++)
        if (!((room, names_here[i]) in still))
            breach("tests/layering.sh: " room "/" names_here[i] " is in no circle any more; remove it from circles()")
}

function check_include(where, from, to,    a, b) {
    a = room_of(from); b = room_of(to)
    if (a == b) { note_neighbour(where, a, subject(from), subject(to)); return }
    if (!((a, b) in edge)) { edge[a, b] = where; to_of[a] = to_of[a] " " b }
    if (!(a in doors) || !(b in doors)) return
    if (index(" " enters[a] " ", " " b " ") == 0)
        breach(where ": " a " may not enter " b " (it includes " to ")")
    else if (doors[b] != "*" && index(" " doors[b] " ", " " base(to) " ") == 0)
        breach(where ": " base(to) " is private to " b "; its doors are: " doors[b])
}

function check_line(text,    where, from, name, to) {
    match(text, /^[^:]*:[0-9]+:/)
    where = substr(text, 1, RLENGTH - 1); from = where; sub(/:[0-9]+$/, "", from)
    text = substr(text, RLENGTH + 1)
    if (text !~ /^[ \t]*#[ \t]*include/) {
        breach(where ": RL() and TR() hide names from grep; write the name, and rename it for the second compilation")
        return
    }
    if (match(text, /"[^"]+"/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        to = resolve(from, name)
        if (to != "") check_include(where, from, to)
        else if (name != "schema_sql.h" && name != "postgres_sql.h" && name != "report_assets.h" && name != "guide_texts.h" && name != "texts.h" && name !~ /^(rlcore_single|rlcase_single|trainer_double)_names\.h$/) breach(where ": \"" name "\" is not a file of this part of the tree")
    } else if (match(text, /<[^>]+>/)) {
        name = substr(text, RSTART + 1, RLENGTH - 2)
        if (("include/" name) in file) check_include(where, from, "include/" name)
        else if ((name in seen_by) && (room_of(from) in doors) && index(" " seen_by[name] " ", " " room_of(from) " ") == 0)
            breach(where ": " name " may be seen by " seen_by[name] " only")
    }
}

# Depth first; a room met again while it is still open closes a circle.
function visit(room,    n, next_rooms, i, j, circle) {
    open[room] = ++depth; path[depth] = room
    n = split(to_of[room], next_rooms, " ")
    for (i = 1; i <= n; i++) {
        if (open[next_rooms[i]]) {
            circle = ""
            for (j = open[next_rooms[i]]; j <= depth; j++) circle = circle path[j] " -> "
            breach(edge[room, next_rooms[i]] ": a circle of rooms: " circle next_rooms[i])
        } else if (!done[next_rooms[i]]) visit(next_rooms[i])
    }
    open[room] = 0; done[room] = 1; depth--
}

$1 == "ROOM" {
    room = $2; order[++rooms] = room; doors[room] = ""; enters[room] = ""
    for (i = 3; i <= NF; i++)
        if ($i ~ /\// || enters[room] != "") enters[room] = enters[room] " " $i
        else if (doors[room] != "" && $i == "-") enters[room] = enters[room]
        else doors[room] = doors[room] (doors[room] == "" ? "" : " ") $i
    next
}
$1 == "LIBRARY" { name = $2; $1 = $2 = ""; sub(/^ +/, ""); seen_by[name] = $0; next }
$1 == "CIRCLE" { name = $2; $1 = $2 = ""; sub(/^ +/, ""); allowed[name] = $0; subjects_of[name] = subjects_of[name]; next }
$1 == "SAME" { reason[$2] = 1; next }
$1 == "FILE" { file[$2] = 1; names[base($2)] = names[base($2)] " " $2; count[base($2)]++; next }
$1 == "LINE" { sub(/^LINE /, ""); line[++lines] = $0 }

END {
    for (f in file) {
        if (!(room_of(f) in doors)) homeless[room_of(f)] = f
        used[room_of(f)] = 1
        has[room_of(f), base(f)] = 1
    }
    for (d in homeless) breach(homeless[d] ": its room " d " is not in the table of tests/layering.sh")
    for (i = 1; i <= rooms; i++) {
        if (!used[order[i]]) breach("tests/layering.sh: the table names " order[i] ", which is not there")
        n = split(doors[order[i]], door, " ")
        for (j = 1; j <= n; j++)
            if (door[j] !~ /^[*-]$/ && !((order[i], door[j]) in has))
                breach("tests/layering.sh: the table names a door " door[j] " of " order[i] ", which is not there")
    }
    for (i = 1; i <= lines; i++) check_line(line[i])
    for (room in subjects_of) check_circles(room)
    for (room in to_of) if (!done[room]) visit(room)
    for (name in count)
        if (count[name] > 1 && !(name in reason))
            breach("files of one name:" names[name] ": rename, or give tests/layering.sh the reason why their subject is one")
    printf "%d files, %d rooms, %d lines, %d breaches\n", length(file), rooms, lines, breaches
    exit breaches > 0 || !lines
}'
