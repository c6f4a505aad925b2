/*
 * fuzz_store.c: puts arbitrary bytes into one file of a store with three rows, and runs what commands run. The first byte
 * of the input chooses the file (`files` below).
 *
 * Whatever the file says, the three rows are there afterwards with their bytes, unless the file is the log itself, and a
 * refusal is one line of text.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/evidence.h>
#include <lineage/insights.h>
#include <lineage/query.h>
#include <lineage/queue.h>
#include <lineage/remarks.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "append/outbox_file.h"
#include "fuzz.h"
#include "support/files.h"

/* `whole`: the bytes become the file. Otherwise they overwrite a mirror from a position that three bytes choose. */
static const struct {
    char letter;
    const char *name;
    bool is_log; /* the file may decide which rows there are */
} files[] = {
    {'a', "results.tsv", true},
    {'b', "lineage.json", false},
    {'c', "insights.jsonl", false},
    {'d', "remarks.jsonl", false},
    {'e', ".results.tsv.digests", false},
    {'f', "results.tsv.import", true},
    {'g', "results.tsv.torn-1", false},
    {'h', "telemetry/000.json", false},
    {'i', "outbox/1.trial", false},
    {'j', "checkpoints/0000000000000001.claim", false},
    {'k', "lineage.db", false},
    {'l', "KNOWLEDGE.md", false},
    {'m', ".KNOWLEDGE.md.rendered", false},
    {'n', "server.json", false},
    {'o', "best.json", false},
    {'p', "results.tsv.undone", false},
    {'q', "lineage_code/00000000000000000000000000000000", false},
    {'r', ".results.tsv.redacted", false},
};
enum { N_FILES = sizeof files / sizeof *files, N_ROWS = 3 };

static const char log_text[] =
    "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\t"
    "core_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n"
    "000\tT\ts\t\t\t\tfirst\t\tkeep\t1.5\t\t\t\t\t\t\talpha=1\n"
    "001\tT\ts\t000\t\t\tsecond\t\tdiscard\t1.75\t\t\t\t\t\t\talpha=2\n"
    "002\tT\ts\t000\t\t\tthird\t\tkeep\t1.25\t\t\t\t\t\t\talpha=3\n";

/* The mirror of the three rows, made once. */
static char *mirror;
static size_t mirror_length;

static char *make_store(void)
{
    static const char *const folders[] = {"telemetry", "outbox", "checkpoints", "lineage_code"};
    char *dir = make_dir(), *log = join(dir, "results.tsv");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = join(dir, folders[i]);
        fuzz_assert(mkdir(path, 0755) == 0);
        free(path);
    }
    write_file(log, log_text, sizeof log_text - 1);
    free(log);
    return dir;
}

static void make_mirror(void)
{
    struct lineage_store *store;
    struct lineage_trial trial;
    char *dir = make_store(), *path = join(dir, "lineage.db");
    fuzz_assert(lineage_store_open(&store, dir, NULL, NULL) == LINEAGE_OK);
    fuzz_assert(lineage_best(store, &trial, NULL) == LINEAGE_OK);
    lineage_trial_release(&trial);
    lineage_store_close(store);
    mirror = read_file(path, &mirror_length);
    free(path);
    remove_dir(dir);
}

static void put_file(const char *dir, size_t which, const char *bytes, size_t length)
{
    char *path = join(dir, files[which].name);
    if (files[which].letter == 'k' && length > 3) {
        char *copy = malloc(mirror_length);
        size_t at = ((size_t)(unsigned char)bytes[0] << 16 | (size_t)(unsigned char)bytes[1] << 8 | (unsigned char)bytes[2]) %
                    mirror_length;
        memcpy(copy, mirror, mirror_length);
        memcpy(copy + at, bytes + 3, length - 3 < mirror_length - at ? length - 3 : mirror_length - at);
        write_file(path, copy, mirror_length);
        free(copy);
    } else {
        write_file(path, bytes, length);
    }
    free(path);
}

/* ---- commands ---- */

/* A refusal has a text of one line. */
static bool worked(enum lineage_status status, const struct lineage_error *err)
{
    fuzz_assert(status == LINEAGE_OK || status == LINEAGE_ENOTFOUND || (err->text[0] && !strchr(err->text, '\n')));
    return status == LINEAGE_OK;
}

static bool next_insight(void *context, const struct lineage_insight *insight)
{
    (void)context;
    fuzz_assert(insight->text && insight->number);
    return true;
}

static bool next_remark(void *context, const struct lineage_remark *remark)
{
    (void)context;
    fuzz_assert(remark->text != NULL);
    return true;
}

static bool next_claim(void *context, const struct lineage_claim *claim)
{
    (void)context;
    fuzz_assert(memchr(claim->worker, 0, sizeof claim->worker) && memchr(claim->about, 0, sizeof claim->about));
    return true;
}

static bool next_request(void *context, struct outbox_file *file, json_t *request)
{
    (void)context;
    fuzz_assert(file->name[0] && (!request || json_is_object(request) || json_is_array(request)));
    return true;
}

static void next_finding(void *context, const struct lineage_finding *finding)
{
    (void)context;
    fuzz_assert(finding->kind && finding->text && !strchr(finding->text, '\n'));
}

static void read_rows(struct lineage_store *store, bool is_log)
{
    struct lineage_error err = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    size_t n = 0;
    if (!worked(lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err), &err))
        return;
    enum lineage_status status;
    while ((status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK)
        n++;
    fuzz_assert(!worked(status, &err) && (is_log || status != LINEAGE_ENOTFOUND || n == N_ROWS));
    lineage_cursor_close(cursor);
}

static void run_queue(struct lineage_store *store)
{
    struct lineage_queue *queue;
    struct lineage_error err = {0};
    struct lineage_claim claim;
    size_t which;
    const uint64_t key = 1;
    const struct lineage_claim_request request = {.night = "n", .keys = &key, .n = 1, .lease = 60};
    if (!worked(lineage_queue_open(&queue, store, &err), &err))
        return;
    worked(lineage_queue_each(queue, next_claim, NULL, &err), &err);
    if (worked(lineage_queue_claim(queue, &request, &which, &claim, &err), &err))
        worked(lineage_queue_release(queue, &claim, LINEAGE_CLAIM_DONE, &err), &err);
    lineage_queue_close(queue);
}

static void judge_rows(struct lineage_store *store)
{
    struct lineage_error err = {0};
    struct lineage_evidence evidence;
    if (!worked(lineage_evidence_load(&evidence, store, NULL, &err), &err))
        return;
    for (size_t i = 0; i < evidence.n; i++)
        fuzz_assert(evidence.trials[i].exp_id && evidence.trials[i].runs.n > 0);
    lineage_evidence_release(&evidence);
}

static void run_outbox(const char *dir)
{
    struct lineage_error err = {0};
    size_t held;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    worked(outbox_each(fd, next_request, NULL, &held, &err), &err);
    close(fd);
}

static void run_commands(const char *dir, bool is_log)
{
    struct lineage_store *store;
    struct lineage_error err = {0};
    char *text, *knowledge = join(dir, "KNOWLEDGE.md");
    size_t n;
    run_outbox(dir);
    if (worked(lineage_store_open(&store, dir, NULL, &err), &err)) {
        read_rows(store, is_log);
        if (worked(lineage_render(&text, &n, store, NULL, &err), &err))
            lineage_free(text);
        worked(lineage_render_file(store, knowledge, NULL, &err), &err);
        worked(lineage_insights_read(store, next_insight, NULL, &err), &err);
        worked(lineage_remarks_read(store, NULL, next_remark, NULL, &err), &err);
        worked(lineage_verify(store, &n, next_finding, NULL, &err), &err);
        judge_rows(store);
        run_queue(store);
        worked(lineage_restore(store, "results.tsv.torn-1", &n, &err), &err);
        worked(lineage_store_append(store, &(struct lineage_trial){.status = LINEAGE_CRASH}, NULL, NULL, &err), &err);
        lineage_store_close(store);
    }
    free(knowledge);
}

/* The rows of the log begin the file, whatever other files say. */
static void check_log(const char *dir)
{
    size_t length;
    char *path = join(dir, "results.tsv"), *now = read_file(path, &length);
    fuzz_assert(length >= sizeof log_text - 1 && memcmp(now, log_text, sizeof log_text - 1) == 0);
    free(now);
    free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || memmem(data, size, "postgres", 8)) /* the name of a server would be called */
        return 0;
    size_t which = 0;
    while (which < N_FILES - 1 && files[which].letter != (char)data[0])
        which++;
    if (!mirror)
        make_mirror();
    char *dir = make_store();
    put_file(dir, which, (const char *)data + 1, size - 1);
    run_commands(dir, files[which].is_log);
    if (!files[which].is_log)
        check_log(dir);
    remove_dir(dir);
    return 0;
}
