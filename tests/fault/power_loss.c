/*
 * power_loss.c: what a power failure may leave of a store, at every moment of a series of commands.
 *
 * Commands run under ptrace(2), and their changes of the disk are recorded (power_trace.h). Before each change that
 * makes something durable, before each printed result, and at the end, every subset of the changes that are not durable
 * is replayed (power_disk.h). If there are more than the limit of subsets, these are replayed: all changes and none,
 * each change alone, all but one, each beginning, and random subsets up to the limit. Of the mirror, which can be
 * deleted, each state has all changes, none, or a random subset.
 *
 * In each new state the promises are checked (power_promises.h). The numbers of states are printed.
 *
 * usage: power_loss LINEAGE [all] [SERIES]          (`all` raises the limit, repeats moments that were checked in like form, and
 * takes minutes)
 *        power_loss act outbox|queue DIR            (a command that runs under ptrace)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "power_acts.h"
#include "power_disk.h"
#include "power_promises.h"
#include "power_trace.h"
#include "support/files.h"

enum { SKIPPED = 77, LIMIT = 24, LIMIT_ALL = 20000, WORDS_MAX = 32, COMMANDS_EVERY = 64, SHOWN = 8, SETTLED_SECONDS = 3 };

#define KEEP "append -C @ --create --status keep --core-metric "

/* Commands of a series, run one after the other. In a word, `@` is the store and `#` a directory with other files, `~` is
 * a line end, and `_` a blank. The commands in `before` are not traced, and what they wrote is durable. */
struct series {
    const char *name;
    const char *before[8], *commands[8];
};

static const struct series all_series[] = {
    {"append", {NULL}, {KEEP "1.5 --hypothesis first", KEEP "1.25 --alpha 0.5 --hypothesis second --telemetry #/steps.json"}},
    {"append cell", {KEEP "2"}, {KEEP "1.5 --hypothesis two~lines", KEEP "1.25"}},
    {"append many", {KEEP "2"}, {"append -C @ --json #/rows.json", KEEP "1"}},
    {"append more", {KEEP "9", KEEP "8", KEEP "7", KEEP "6", KEEP "5", KEEP "4"}, {KEEP "3", KEEP "2", KEEP "1"}},
    {"append later", {KEEP "9", KEEP "8"}, {KEEP "3", KEEP "2"}}, /* seconds after each other (set_time) */
    {"append torn", {KEEP "2", "!torn"}, {KEEP "1.5", KEEP "1.25"}},
    {"import", {KEEP "2"}, {"import -C @ #/other.tsv", KEEP "1.5"}},
    {"import new", {NULL}, {"import -C @ #/other.tsv", KEEP "1.5", "void -C @ a2 --reason wrong"}},
    {"import exact", {NULL}, {"import --exact -C @ #/exact.tsv", KEEP "0.5"}},
    {"render", {KEEP "2"}, {"render -C @ -o @/KNOWLEDGE.md", "!note", KEEP "1.5", "render -C @ -o @/KNOWLEDGE.md"}},
    {"snapshot", {KEEP "2"}, {KEEP "1.5 --snapshot #/work", KEEP "1.25 --snapshot #/work"}},
    {"restore", {KEEP "2", "!torn", KEEP "1.5"}, {"restore -C @ results.tsv.torn-1", KEEP "1.25"}},
    {"rebuild", {KEEP "2", KEEP "1.5"}, {"rebuild -C @", "rebuild --digests -C @", KEEP "1.25"}},
    {"init", {"!empty"}, {"init @/a/b --direction higher"}},
    {"init append", {"!empty"}, {"init @ --direction higher", KEEP "1.5"}},
    {"init from", {"!empty"}, {"init @ --from #/log.csv --metric score --direction lower", KEEP "0.5"}},
    {"append again", {KEEP "2", "!cut"}, {KEEP "1.75 --exp-id b1 --timestamp T --hypothesis one", KEEP "1.5"}},
    {"insight", {KEEP "2"}, {"insight -C @ --author a --evidence 000 smaller_is_better", KEEP "1.5"}},
    {"outbox", {NULL}, {"!outbox"}},
    {"queue", {KEEP "2"}, {"!queue", KEEP "1.5"}},
};

struct play {
    const char *lineage, *self;
    char *root, *store, *files;
    size_t limit;
    unsigned failures;
    bool all;
    uint64_t moments[4096]; /* [n_moments] hashes of the kinds of moments that were checked */
    size_t n_moments;
};

/* ---- running commands ---- */

static char *word_for(const struct play *play, const char *word)
{
    char text[4096] = "";
    for (size_t n = 0; *word && n < sizeof text - 1; word++) {
        const char *place = *word == '@' ? play->store : *word == '#' ? play->files : NULL;
        if (place)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", place);
        else
            text[n++] = *word == '~' ? '\n' : *word == '_' ? ' ' : *word;
    }
    return strdup(text);
}

/* Splits a command at its blanks. `!NAME` is an act of this program (power_acts.h). */
static void split(const struct play *play, const char *command, char *argv[WORDS_MAX])
{
    char *copy = strdup(command), *rest = copy;
    size_t n = 0;
    if (*command == '!') {
        argv[n++] = strdup(play->self);
        argv[n++] = strdup("act");
        argv[n++] = strdup(command + 1);
        argv[n++] = strdup(play->store);
    } else {
        argv[n++] = strdup(play->lineage);
        for (char *word; (word = strsep(&rest, " ")) && n < WORDS_MAX - 1;)
            if (*word)
                argv[n++] = word_for(play, word);
    }
    argv[n] = NULL;
    free(copy);
}

/*
 * Whether a command writes the mirror or only reads it depends on how long ago the mirror was written (mirror_file_is_settled), so a
 * loaded machine would have other moments than an idle one. The time of change is therefore either in the future, or seconds ago.
 */
static void set_time(const struct play *play, bool later)
{
    char *path = join(play->store, "lineage.db");
    struct timespec now, ahead[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
    struct stat st;
    bool there = clock_gettime(CLOCK_REALTIME, &now) == 0 && stat(path, &st) == 0;
    ahead[1].tv_sec = now.tv_sec + 3600;
    if (there && !later)
        there = utimensat(AT_FDCWD, path, ahead, 0) == 0;
    while (there && later && now.tv_sec - st.st_ctim.tv_sec <= SETTLED_SECONDS) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        clock_gettime(CLOCK_REALTIME, &now);
    }
    free(path);
}

static void run(struct play *play, struct disk *disk, const char *command, bool later)
{
    char *argv[WORDS_MAX];
    set_time(play, later);
    split(play, command, argv);
    int status = power_trace(disk, argv);
    if (status != 0) {
        printf("FAIL %s: exit status %d\n", command, status);
        play->failures++;
    }
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
}

/* ---- states ---- */

struct states {
    struct play *play;
    const struct disk *disk;
    const struct promises *promises;
    size_t *open; /* [n_open] indices of changes that are not durable, without those of the mirror */
    size_t n_open;
    size_t *of_mirror, n_of_mirror;
    unsigned char *fate; /* one of each change */
    uint64_t *seen;      /* hashes of states that were checked */
    size_t n_seen, n_replayed, n_sampled, n_failed;
    unsigned seed;
};

static bool is_new(struct states *s, uint64_t hash)
{
    for (size_t i = 0; i < s->n_seen; i++)
        if (s->seen[i] == hash)
            return false;
    if ((s->n_seen & (s->n_seen - 1)) == 0 && !(s->seen = realloc(s->seen, (s->n_seen ? 2 * s->n_seen : 1) * sizeof *s->seen)))
        exit(2);
    s->seen[s->n_seen++] = hash;
    return true;
}

static void describe(const struct states *s, size_t end)
{
    static const char *const kinds[] = {"name", "move", "remove", "write", "truncate", "mark", "unmark", "sync", "answer"};
    static const char *const fates[] = {"lost", "kept", "cut", "zeros"};
    for (size_t i = 0; i < s->n_open; i++) {
        const struct change *c = disk_change(s->disk, s->open[i]);
        printf("    change %zu of %zu: %s %s%s%s inode %zu at %llu, %zu bytes: %s\n", s->open[i], end, kinds[c->kind],
               c->name ? c->name : "", c->to_name ? " to " : "", c->to_name ? c->to_name : "", c->inode,
               (unsigned long long)c->offset, c->length, fates[s->fate[s->open[i]]]);
    }
}

static void choose_mirror(struct states *s)
{
    const size_t way = s->n_replayed % 4;
    for (size_t i = 0; i < s->n_of_mirror; i++)
        s->fate[s->of_mirror[i]] = way < 2 ? way == 0 : rand_r(&s->seed) % 2;
}

static void check_state(struct states *s, size_t end)
{
    char why[PROMISE_TEXT];
    choose_mirror(s);
    s->n_replayed++;
    struct disk_state *state = disk_state_new(s->disk, end, s->fate);
    if (is_new(s, disk_state_hash(state) * 31 + promises_answered(s->promises, end))) {
        const char *lineage = s->n_seen % COMMANDS_EVERY == 0 ? s->play->lineage : NULL;
        if (!promises_hold(s->promises, state, end, lineage, why)) {
            if (s->n_failed++ < SHOWN) {
                printf("FAIL %s\n", why);
                describe(s, end);
            }
            s->play->failures++;
        }
    }
    disk_state_free(state);
}

static void set_all(struct states *s, enum survival survival)
{
    for (size_t i = 0; i < s->n_open; i++)
        s->fate[s->open[i]] = (unsigned char)survival;
}

static void check_samples(struct states *s, size_t end)
{
    for (int all = 0; all < 2; all++) {
        set_all(s, all ? SURVIVES : SURVIVES_NOT);
        check_state(s, end);
        for (size_t i = 0; i < s->n_open; i++)
            for (unsigned fate = 0; fate < disk_n_survivals(s->disk, s->open[i]); fate++) {
                set_all(s, all ? SURVIVES : SURVIVES_NOT);
                s->fate[s->open[i]] = (unsigned char)fate;
                check_state(s, end);
            }
    }
    set_all(s, SURVIVES_NOT);
    for (size_t i = 0; i < s->n_open; i++) {
        s->fate[s->open[i]] = SURVIVES;
        check_state(s, end);
    }
    for (size_t n = 0; n < s->play->limit / 2; n++) {
        for (size_t i = 0; i < s->n_open; i++)
            s->fate[s->open[i]] = (unsigned char)((unsigned)rand_r(&s->seed) % disk_n_survivals(s->disk, s->open[i]));
        check_state(s, end);
    }
}

static void check_subsets(struct states *s, size_t end)
{
    double product = 1;
    for (size_t i = 0; i < s->n_open; i++)
        product *= disk_n_survivals(s->disk, s->open[i]);
    if (product > (double)s->play->limit) {
        s->n_sampled++;
        check_samples(s, end);
        return;
    }
    for (size_t n = 0; n < (size_t)product; n++) {
        size_t rest = n;
        for (size_t i = 0; i < s->n_open; i++) {
            unsigned ways = disk_n_survivals(s->disk, s->open[i]);
            s->fate[s->open[i]] = (unsigned char)(rest % ways);
            rest /= ways;
        }
        check_state(s, end);
    }
}

/*
 * Whether no moment yet, of any series, had these changes open, by kind, file and name without digits, before this one. A further row
 * repeats the moments of the row before it.
 */
static bool is_new_kind(const struct states *s, size_t end)
{
    struct play *play = s->play;
    uint64_t hash = end < disk_n_changes(s->disk) ? 1 + (uint64_t)disk_change(s->disk, end)->kind : 0;
    for (size_t i = 0; i < s->n_open; i++) {
        const struct change *c = disk_change(s->disk, s->open[i]);
        hash = XXH3_64bits_withSeed(&c->kind, sizeof c->kind, hash);
        hash = XXH3_64bits_withSeed(&c->inode, sizeof c->inode, hash);
        for (const char *p = c->name ? c->name : ""; *p; p += strspn(p, "0123456789")) {
            const size_t n = strcspn(p, "0123456789");
            hash = XXH3_64bits_withSeed(p, n, hash);
            p += n;
        }
    }
    for (size_t i = 0; i < play->n_moments; i++)
        if (play->moments[i] == hash)
            return false;
    if (play->n_moments < sizeof play->moments / sizeof *play->moments)
        play->moments[play->n_moments++] = hash;
    return true;
}

/* The states of a power failure just before change `end`. Returns whether they were checked. */
static bool check_moment(struct states *s, size_t end)
{
    s->n_open = s->n_of_mirror = 0;
    for (size_t i = 0; i < end; i++) {
        const struct change *c = disk_change(s->disk, i);
        if (c->kind == CHANGE_SYNC || c->kind == CHANGE_ANSWER || c->durable_at < end)
            continue;
        if (c->of_mirror)
            s->of_mirror[s->n_of_mirror++] = i;
        else
            s->open[s->n_open++] = i;
    }
    bool is_new = is_new_kind(s, end);
    if (is_new || s->play->all)
        check_subsets(s, end);
    return is_new || s->play->all;
}

static void check_moments(struct play *play, const struct disk *disk, const struct promises *promises, const char *name)
{
    const size_t n = disk_n_changes(disk);
    size_t moments = 0;
    struct states s = {.play = play,
                       .disk = disk,
                       .promises = promises,
                       .open = calloc(n + 1, sizeof(size_t)),
                       .of_mirror = calloc(n + 1, sizeof(size_t)),
                       .fate = calloc(n + 1, 1),
                       .seed = 1};
    if (!s.open || !s.of_mirror || !s.fate)
        exit(2);
    for (size_t end = 0; end <= n; end++)
        if (end == n || disk_change(disk, end)->kind == CHANGE_SYNC || disk_change(disk, end)->kind == CHANGE_ANSWER)
            moments += check_moment(&s, end);
    printf("%-13s %4zu changes, %3zu moments (%zu sampled), %6zu states replayed, %5zu different ones checked\n", name, n,
           moments, s.n_sampled, s.n_replayed, s.n_seen);
    fflush(stdout);
    free(s.open);
    free(s.of_mirror);
    free(s.fate);
    free(s.seen);
}

/* ---- a series ---- */

static void play_series(struct play *play, const struct series *series)
{
    const bool later = strcmp(series->name, "append later") == 0;
    char *scratch = make_dir();
    play->root = join(scratch, "disk");
    play->store = join(play->root, "store");
    play->files = join(scratch, "files");
    if (mkdir(play->root, 0755) != 0 || mkdir(play->files, 0755) != 0)
        exit(2);
    power_files_make(play->files);
    struct disk *ignored = disk_new(play->root);
    if (!series->before[0] && mkdir(play->store, 0755) != 0)
        exit(2);
    for (size_t i = 0; series->before[i]; i++) {
        if (i == 0 && strcmp(series->before[0], "!empty") != 0 && mkdir(play->store, 0755) != 0)
            exit(2);
        run(play, ignored, series->before[i], later);
    }
    disk_free(ignored);
    struct disk *disk = disk_new(play->root);
    struct promises *promises = promises_new(play->store, series->name);
    for (size_t i = 0; series->commands[i]; i++) {
        size_t first = disk_n_changes(disk);
        run(play, disk, series->commands[i], later);
        promises_add(promises, disk, first);
    }
    disk_settle(disk);
    check_moments(play, disk, promises, series->name);
    promises_free(promises);
    disk_free(disk);
    free(play->files);
    free(play->store);
    free(play->root);
    remove_dir(scratch);
}

int main(int argc, char **argv)
{
    struct play play = {.lineage = argc > 1 ? argv[1] : "", .self = "/proc/self/exe", .limit = LIMIT};
    if (argc == 4 && strcmp(argv[1], "act") == 0)
        return power_act(argv[2], argv[3]);
    const bool all = play.all = argc > 2 && strcmp(argv[2], "all") == 0;
    const char *only = argc > 2 + all ? argv[2 + all] : NULL;
    if (!power_trace_works()) {
        puts("skipped: this system does not let a process trace its child (ptrace)");
        return SKIPPED;
    }
    play.limit = all ? LIMIT_ALL : LIMIT;
    char *state = make_dir();
    setenv("XDG_STATE_HOME", state, 1);
    for (size_t i = 0; i < sizeof all_series / sizeof *all_series; i++)
        if (!only || strcmp(only, all_series[i].name) == 0)
            play_series(&play, &all_series[i]);
    remove_dir(state);
    printf("%u failures\n", play.failures);
    return play.failures != 0;
}
