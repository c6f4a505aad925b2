/* marathon_actors.c: the processes that work on the store, and how they are killed. */
#include "marathon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "files/fs.h"

#include "support/last_words.h"

extern char **environ;

/*
 * ---- kills
 * ---------------------------------------------------------------------------------------------------
 */

static unsigned calls_left, writes_left;
static uint64_t tear_seed;
static struct part *dying;

static void die(enum death death)
{
    dying->death = death;
    kill_myself();
}

static int strike(void *context, const char *call)
{
    (void)context, (void)call;
    if (calls_left && --calls_left == 0)
        die(AT_A_CALL);
    return 0;
}

/*
 * Kills this process at the n-th faultable call of the store from now on or, with `torn`, in the middle of the n-th
 * write.
 */
static void arm_kill(struct part *part, unsigned n, bool torn, uint64_t seed)
{
    dying = part;
    calls_left = torn ? 0 : n;
    writes_left = torn ? n : 0;
    tear_seed = seed;
    fs_set_fault(strike, NULL);
}

/*
 * Replaces write. In the chosen call it writes only a prefix, as a kill, a full disk or a power cut would, and ends
 * the process.
 */
ssize_t __real_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length);
ssize_t __wrap_write(int fd, const void *data, size_t length)
{
    if (length > 1 && writes_left && --writes_left == 0) {
        size_t cut = draw(&tear_seed) % 4 ? length - 1 - draw(&tear_seed) % (length < 300 ? length - 1 : 299)
                                          : 1 + draw(&tear_seed) % (length - 1);
        ssize_t n = __real_write(fd, data, cut);
        die(INSIDE_WRITE);
        return n;
    }
    return __real_write(fd, data, length);
}

/*
 * ---- notes outside the store
 * ----------------------------------------------------------------------------------
 */

struct actor {
    const struct arena_of_war *war;
    struct part *part;
    uint64_t seed;
    struct lineage_store *store; /* NULL until needed */
    int acks;
    char why[LINEAGE_ERROR_TEXT_MAX];
};

/*
 * Appends a line to the file of acknowledgements. The line begins with a line end, because a kill may have cut the
 * previous line. The line end after it shows that it is complete.
 */
static void note(const struct actor *actor, char what, uint64_t tag, uint64_t length, const char *id)
{
    char line[400];
    int n =
        snprintf(line, sizeof line, "\n%c %016llx %llu %s .\n", what, (unsigned long long)tag, (unsigned long long)length, id);
    if (__real_write(actor->acks, line, (size_t)n) != n)
        abort();
}

static bool failed(struct actor *actor, const char *doing, const char *why)
{
    snprintf(actor->why, sizeof actor->why, "%s: %.400s", doing, why);
    return false;
}

static bool chance(struct actor *actor, unsigned percent)
{
    return draw(&actor->seed) % 100 < percent;
}

static size_t pick_length(struct actor *actor)
{
    unsigned at = (unsigned)(draw(&actor->seed) % 100);
    if (!actor->war->long_rows || at < 60)
        return 40 + draw(&actor->seed) % 1000;
    return at < 90 ? 40 + draw(&actor->seed) % 10000 : 40 + draw(&actor->seed) % 100000;
}

static uint64_t new_tag(struct actor *actor)
{
    return draw(&actor->seed) << 1 >> 1 | (uint64_t)1 << 62; /* bit 62 marks a single row; rows of an import lack it */
}

/* Runs a command and keeps 300 bytes of its output. Returns false unless its exit status is 0 or `other`. */
static bool run_command(struct actor *actor, const char *const *argv, char out[301], int other)
{
    posix_spawn_file_actions_t actions;
    int ends[2], state;
    size_t n = 0;
    ssize_t got = 1;
    pid_t child;
    if (pipe(ends) != 0)
        abort();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    bool ok = posix_spawn(&child, actor->war->command, &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    char rest[4096];
    while (ok && got > 0) {
        got = n < 300 ? read(ends[0], out + n, 300 - n) : read(ends[0], rest, sizeof rest);
        if (got > 0 && n < 300)
            n += (size_t)got;
    }
    close(ends[0]);
    out[n] = '\0';
    if (!ok || waitpid(child, &state, 0) != child || !WIFEXITED(state) ||
        (WEXITSTATUS(state) != 0 && WEXITSTATUS(state) != other)) {
        char what[200];
        snprintf(what, sizeof what, "state %x: %.100s", ok ? (unsigned)state : 0, out);
        return failed(actor, argv[1], what);
    }
    return true;
}

/* ---- through the library --------------------------------------------------------------------------------------- */

static bool opened(struct actor *actor)
{
    struct lineage_error err;
    actor->part->deed = OPENING;
    if (actor->store && chance(actor, 30)) {
        lineage_store_close(actor->store);
        actor->store = NULL;
    }
    if (!actor->store && lineage_store_open(&actor->store, actor->war->dir, NULL, &err) != LINEAGE_OK)
        return failed(actor, "open", err.text);
    return true;
}

static const char *const telemetry = "{\"steps\": [{\"step\": 0, \"loss\": 1.5}, {\"step\": 1, \"loss\": 1.25}]}";

/*
 * Appends a row. Every fourth row chooses its id and has files; the append is retried until it succeeds, as in a
 * night.
 */
static bool append_row(struct actor *actor)
{
    uint64_t tag = new_tag(actor);
    size_t length = pick_length(actor);
    char *hypothesis = tagged_text('R', tag, length), *notes = tagged_text('N', tag, length), id[40] = "";
    struct lineage_append_options options;
    struct lineage_error err;
    struct lineage_trial row, trial = {.specialist = "ours",
                                       .hypothesis = hypothesis,
                                       .notes = notes,
                                       .status = chance(actor, 40) ? LINEAGE_KEEP : LINEAGE_DISCARD,
                                       .core_metric = {true, (double)(draw(&actor->seed) % 100000) / 1000}};
    lineage_append_options_init(&options);
    options.no_sync = chance(actor, 70);
    options.auto_status = chance(actor, 30);
    options.no_mirror_sync = chance(actor, 20);
    actor->part->deed = APPENDING;
    if (chance(actor, 25)) {
        actor->part->deed = APPENDING_FILES;
        snprintf(id, sizeof id, "side-%llu", (unsigned long long)(draw(&actor->seed) % 64));
        trial.exp_id = id;
        options.snapshot_dir = chance(actor, 60) ? actor->war->work : NULL;
        options.telemetry = telemetry;
        options.telemetry_length = strlen(telemetry);
    }
    enum lineage_status status = lineage_store_append(actor->store, &trial, &options, &row, &err);
    if (status == LINEAGE_OK)
        note(actor, 'A', tag, length, row.exp_id);
    lineage_trial_release(&row);
    free(hypothesis);
    free(notes);
    return status == LINEAGE_OK || (status == LINEAGE_EEXIST && id[0]) || failed(actor, "append", err.text);
}

static bool read_something(struct actor *actor)
{
    struct lineage_error err;
    struct lineage_trial best;
    struct lineage_render_options options;
    char *text;
    size_t length;
    actor->part->deed = READING;
    enum lineage_status status = lineage_best(actor->store, &best, &err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return failed(actor, "best", err.text);
    lineage_trial_release(&best);
    lineage_render_options_init(&options);
    if (lineage_render(&text, &length, actor->store, &options, &err) != LINEAGE_OK)
        return failed(actor, "render", err.text);
    lineage_free(text);
    return true;
}

static bool render_file(struct actor *actor)
{
    struct lineage_error err;
    struct lineage_render_options options;
    char path[400];
    snprintf(path, sizeof path, "%s/KNOWLEDGE.md", actor->war->dir);
    lineage_render_options_init(&options);
    actor->part->deed = RENDERING;
    return lineage_render_file(actor->store, path, &options, &err) == LINEAGE_OK || failed(actor, "render -o", err.text);
}

static bool rebuild(struct actor *actor)
{
    struct lineage_error err;
    actor->part->deed = REBUILDING;
    return lineage_rebuild(actor->store, &err) == LINEAGE_OK || failed(actor, "rebuild", err.text);
}

/* While others write, verify may report what they have left unfinished, but never that the mirror differs. */
static void hear(void *context, const struct lineage_finding *finding)
{
    struct actor *actor = context;
    if (strcmp(finding->kind, "mirror") == 0)
        snprintf(actor->why, sizeof actor->why, "verify: line %llu: %.300s", (unsigned long long)finding->line, finding->text);
}

static bool verify(struct actor *actor)
{
    struct lineage_error err;
    size_t n;
    actor->part->deed = VERIFYING;
    if (lineage_verify(actor->store, &n, hear, actor, &err) != LINEAGE_OK)
        return failed(actor, "verify", err.text);
    return !actor->why[0];
}

/*
 * ---- another program
 * -----------------------------------------------------------------------------------------------
 */

static const char header[] =
    "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\t"
    "core_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n";

static char *foreign_record(uint64_t tag, size_t length, const char *end)
{
    char *hypothesis = tagged_text('R', tag, length), *notes = tagged_text('N', tag, length);
    char *a = csv_cell(hypothesis), *b = csv_cell(notes), *record = malloc(strlen(a) + strlen(b) + 200);
    if (!record)
        abort();
    sprintf(record, "f-%llx\t2026-01-01T00:00:00Z\tstranger\t\t\t\t%s\t\tdiscard\t0.5\t\t\t\t\t\t\t%s%s", (unsigned long long)tag,
            a, b, end);
    free(hypothesis);
    free(notes);
    free(a);
    free(b);
    return record;
}

/* Writes a file of n rows in the form of fieldkit. */
static void write_foreign_file(const char *path, uint64_t batch, unsigned n, uint64_t seed)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        abort();
    fputs(header, out);
    for (unsigned i = 0; i < n; i++) {
        char *record = foreign_record(batch | i, 40 + draw(&seed) % 400, "\n");
        fputs(record, out);
        free(record);
    }
    if (fclose(out) != 0)
        abort();
}

/* Imports rows. The import is announced first, so that the check can recognise a partial import. */
static bool import(struct actor *actor, const char *command)
{
    struct lineage_error err = {0};
    struct lineage_import_stats stats;
    char path[400];
    uint64_t batch = draw(&actor->seed) >> 28 << 20;
    unsigned n = 1 + (unsigned)(draw(&actor->seed) % (chance(actor, 4) ? 2000 : 60));
    actor->part->deed = command ? COMMAND_IMPORTS : IMPORTING;
    snprintf(path, sizeof path, "%s.import-%ld", actor->war->acks, (long)getpid());
    write_foreign_file(path, batch, n, draw(&actor->seed));
    note(actor, 'J', batch, n, "-");
    bool ok;
    if (command) {
        const char *const argv[] = {"lineage", "import", "-C", actor->war->dir, path, NULL};
        char out[301];
        ok = run_command(actor, argv, out, 0);
    } else {
        ok = lineage_import(actor->store, path, NULL, &stats, NULL, NULL, &err) == LINEAGE_OK;
    }
    if (ok)
        note(actor, 'I', batch, n, "-");
    unlink(path);
    return ok || failed(actor, "import", err.text);
}

/* Opens and locks the file, and makes sure that the path still leads to it. Returns -1 on failure. */
static int lock_results(const char *path, struct stat *st)
{
    struct stat named;
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, st) != 0)
            return -1;
        if (stat(path, &named) == 0 && named.st_ino == st->st_ino)
            return fd;
        close(fd); /* the file was empty and has been removed since the open */
    }
}

/*
 * Returns true if a quote is still open. A second unclosed quote would close it; then every reader would take
 * everything between them as one cell, permanently.
 */
static bool has_open_quote(int fd, off_t size)
{
    char *bytes = malloc((size_t)size + 1);
    bool open = false;
    if (!bytes || pread(fd, bytes, (size_t)size, 0) != size)
        abort();
    for (off_t i = 0; i < size; i++)
        open ^= bytes[i] == '"';
    free(bytes);
    return open;
}

/*
 * Returns a record or, in a dirty run, one whose quote is never closed. *what tells the check how to judge the
 * record.
 */
static char *next_foreign(struct actor *actor, int fd, off_t size, uint64_t tag, size_t length, char *what)
{
    uint64_t at = draw(&actor->seed) % 100;
    *what = at >= 90 ? 'U' : 'F';
    if (!actor->war->dirty || at >= 5 || has_open_quote(fd, size))
        return foreign_record(tag, length, at >= 90 ? "" : "\n");
    char *record = malloc(200);
    if (!record)
        abort();
    sprintf(record, "u-%llx\t2026-01-01T00:00:00Z\tstranger\t\t\t\t\"never closed\t\tdiscard\t0.5\t\t\t\t\t\t\t\n",
            (unsigned long long)tag);
    *what = 'Q';
    return record;
}

/*
 * Appends a record as fieldkit does: takes flock, writes a header if the file is empty, and uses one write. Some
 * records have no line end yet, as if an editor had written them. A careful program then waits until the line end is
 * there. A careless one (in a dirty run) appends at once and merges two records, which are then not checked.
 */
static bool append_foreign(struct actor *actor)
{
    /* in a dirty run, a tag whose text has no quotes, which would close an open quote */
    uint64_t tag = new_tag(actor) | actor->war->dirty;
    size_t length = pick_length(actor);
    char path[400], last = '\n', what, *record = NULL;
    struct stat st;
    actor->part->deed = STRANGER;
    snprintf(path, sizeof path, "%s/results.tsv", actor->war->dir);
    int fd = lock_results(path, &st);
    bool ok = fd >= 0 && (!st.st_size || pread(fd, &last, 1, st.st_size - 1) == 1);
    if (ok && (last == '\n' || actor->war->dirty)) {
        record = next_foreign(actor, fd, st.st_size, tag, length, &what);
        size_t n = strlen(record);
        char *bytes = malloc(n + sizeof header);
        if (!bytes)
            abort();
        sprintf(bytes, "%s%s", st.st_size ? "" : header, record);
        ok = __real_write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes);
        /* Noted after the write, because a process that is killed before the write has written nothing. */
        if (what != 'Q' && last == '\n')
            note(actor, what, tag, length, "-");
        free(bytes);
    }
    if (fd >= 0)
        close(fd);
    free(record);
    return ok || failed(actor, "stranger", "cannot lock or write");
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

static bool command_append(struct actor *actor)
{
    uint64_t tag = new_tag(actor);
    size_t length = pick_length(actor);
    char *hypothesis = tagged_text('R', tag, length), *notes = tagged_text('N', tag, length), out[301];
    const char *const argv[] = {"lineage",
                                "append",
                                "-C",
                                actor->war->dir,
                                "--status",
                                "auto",
                                "--core-metric",
                                "3.5",
                                "--hypothesis",
                                hypothesis,
                                "--notes",
                                notes,
                                chance(actor, 50) ? "--no-sync" : NULL,
                                NULL};
    actor->part->deed = COMMAND_APPENDS;
    bool ok = run_command(actor, argv, out, 0);
    if (ok) {
        out[strcspn(out, "\n")] = '\0';
        note(actor, 'A', tag, length, out);
    }
    free(hypothesis);
    free(notes);
    return ok;
}

/* Runs a night. Exit status 3 is also right: a night is refused while another one runs. */
static bool night(struct actor *actor)
{
    const char *const argv[] = {"lineage", "night", actor->war->sweep, "-C", actor->war->dir, "-q", NULL};
    char out[301];
    actor->part->deed = NIGHT;
    return run_command(actor, argv, out, 3);
}

static bool use_command(struct actor *actor)
{
    char out[301], knowledge[400];
    const char *dir = actor->war->dir;
    snprintf(knowledge, sizeof knowledge, "%s/KNOWLEDGE.md", dir);
    const struct {
        enum deed deed;
        const char *argv[7];
    } uses[] = {
        {COMMAND_READS, {"lineage", "best", "-C", dir, "--format", "json", NULL}},
        {COMMAND_RENDERS, {"lineage", "render", "-C", dir, "-o", knowledge, NULL}},
        {COMMAND_REBUILDS, {"lineage", "rebuild", "-C", dir, NULL}},
        {COMMAND_VERIFIES, {"lineage", "verify", "-C", dir, NULL}},
        {COMMAND_READS, {"lineage", "query", "-C", dir, "--format", "json", NULL}},
    };
    unsigned at = (unsigned)(draw(&actor->seed) % 12);
    if (at < 4)
        return command_append(actor);
    if (at == 4)
        return import(actor, actor->war->command);
    if (at >= 10)
        return !actor->war->sweep || night(actor);
    actor->part->deed = uses[at - 5].deed;
    return run_command(actor, uses[at - 5].argv, out, 1);
}

/*
 * ---- all actions
 * -------------------------------------------------------------------------------------------------
 */

static bool act_once(struct actor *actor)
{
    unsigned at = (unsigned)(draw(&actor->seed) % 100);
    if (at < 15)
        return append_foreign(actor);
    if (at < 18 && actor->war->command)
        return use_command(actor);
    if (!opened(actor))
        return false;
    if (at < 23)
        return read_something(actor);
    if (at < 25)
        return render_file(actor);
    if (at < 27)
        return rebuild(actor);
    if (at < 29)
        return verify(actor);
    if (at < 31)
        return import(actor, NULL);
    return append_row(actor);
}

int act(const struct arena_of_war *war, struct part *part, uint64_t seed, unsigned actions)
{
    struct actor actor = {.war = war, .part = part, .seed = seed};
    bool ok = true;
    actor.acks = open(war->acks, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (actor.acks < 0)
        return 2;
    /* which kill; opening makes some twenty calls, an append only a few writes */
    unsigned fate = (unsigned)(draw(&actor.seed) % 10);
    if (fate < 4)
        arm_kill(part, 1 + (unsigned)(draw(&actor.seed) % 60), false, 0);
    else if (fate < 8)
        arm_kill(part, 1 + (unsigned)(draw(&actor.seed) % 12), true, draw(&actor.seed));
    while (ok && actions--)
        ok = act_once(&actor);
    lineage_store_close(actor.store);
    if (!ok)
        printf("FAIL %s\n", actor.why);
    fflush(stdout);
    return !ok;
}
