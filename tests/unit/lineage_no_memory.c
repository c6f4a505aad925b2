/*
 * Tests functions that write files from a store while memory runs out: the message, and the files afterwards. In each round
 * another allocation fails: the first of each four nearest callers, and of each two in each deed. Linked with --wrap
 * of the allocation functions.
 */
#include "support/unit.h"

#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include <lineage/measured.h>
#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "format/arena.h"
#include "support/files.h"
#include "support/rows.h"
#include "support/scarce_memory.h"

/* ---- memory ---- */

static unsigned countdown;
static bool struck;

/* The callers of the allocations so far, as hashes, and for the deed that runs without a failure which of its allocations have
 * new ones. */
enum { CALLERS = 4, OWN = 3, WAYS = 1 << 16, ALLOCATIONS_MAX = 200000 };
static uint64_t ways[WAYS];
static bool listing, is_new[ALLOCATIONS_MAX];
static unsigned n_allocations;

/* deed: 0 for callers that count once for all deeds. */
static bool is_first(void *const *callers, size_t n, size_t deed)
{
    const uint64_t hash = XXH3_64bits_withSeed(callers, n * sizeof *callers, deed) | 1;
    size_t at = hash % WAYS;
    while (ways[at] && ways[at] != hash)
        at = (at + 1) % WAYS;
    const bool first = !ways[at];
    ways[at] = hash;
    return first;
}

static size_t deed; /* from 1 on */

static void note_callers(void)
{
    void *frames[CALLERS + OWN] = {NULL};
    listing = false; /* backtrace may allocate */
    backtrace(frames, CALLERS + OWN);
    listing = true;
    assert_true(++n_allocations < ALLOCATIONS_MAX);
    const bool first = is_first(frames + OWN, CALLERS, 0), first_here = is_first(frames + OWN, 2, deed);
    is_new[n_allocations] = first || first_here;
}

bool memory_strikes(void)
{
    if (listing)
        note_callers();
    if (!countdown || --countdown)
        return false;
    return struck = true;
}

bool piece_strikes(void)
{
    return memory_strikes();
}

/* ---- what is done ---- */

static struct lineage_error err;
static char *dir;
static struct lineage_store *store;

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static enum lineage_status do_blackboard(void)
{
    return lineage_render_blackboard(store, path_of("board"), NULL, &err);
}

static enum lineage_status render_to(const char *name)
{
    struct lineage_render_options options;
    lineage_render_options_init(&options);
    options.max_bytes = 900;
    return lineage_render_file(store, path_of(name), &options, &err);
}

static enum lineage_status do_render_file(void)
{
    return render_to("block.md");
}
static enum lineage_status do_render_foreign(void)
{
    return render_to("person.md");
}
static enum lineage_status do_render_link(void)
{
    return render_to("link.md");
}
static enum lineage_status do_render_stream(void)
{
    return render_to("null");
}

static enum lineage_status do_insights(void)
{
    char *text = NULL;
    enum lineage_status status = lineage_render_insights(&text, path_of("person.md"), &err);
    lineage_free(text);
    return status;
}

static enum lineage_status do_record(void)
{
    char *path = NULL;
    enum lineage_status status = lineage_render_record(&path, store, "text", 4, "T", "me", &err);
    lineage_free(path);
    return status;
}

static enum lineage_status append(const char *id, const char *parent, bool many)
{
    const struct lineage_trial trial = {
        .exp_id = id, .specialist = "s", .parent_exp = parent, .notes = "alpha=1", .core_metric = {true, 0.75}};
    struct lineage_append_options options;
    struct lineage_trial row = {0};
    lineage_append_options_init(&options);
    options.auto_status = true;
    enum lineage_status status = many ? lineage_store_append_many(store, &trial, 1, NULL, &options, &row, &err)
                                      : lineage_store_append(store, &trial, &options, &row, &err);
    lineage_trial_release(&row);
    return status;
}

static enum lineage_status do_append(void)
{
    return append(NULL, NULL, false);
}
static enum lineage_status do_append_child(void)
{
    return append("exp_070", "exp_002", false);
}
static enum lineage_status do_append_many(void)
{
    return append(NULL, "001", true);
}

static enum lineage_status do_restore(void)
{
    size_t n;
    return lineage_restore(store, "results.tsv.torn-1", &n, &err);
}

static enum lineage_status do_import(void)
{
    struct lineage_import_stats stats;
    return lineage_import(store, path_of("five.tsv"), NULL, &stats, NULL, NULL, &err);
}

static enum lineage_status do_noise(void)
{
    return lineage_store_set_noise(store, 0.5, 2, &err);
}

static enum lineage_status do_create(void)
{
    const struct lineage_config config = {.direction = LINEAGE_HIGHER, .min_delta = 0.5};
    return lineage_store_create(path_of("another"), &config, &err);
}

/* An answer without one of the changes would be worse than none. */
static enum lineage_status check_measured(enum lineage_status status, struct lineage_measured *measured, size_t n)
{
    if (status == LINEAGE_OK && measured->n_changes != n)
        fail_msg("%zu changes instead of %zu, without a failure", measured->n_changes, n);
    lineage_measured_release(measured);
    return status;
}

static enum lineage_status do_measure(void)
{
    struct lineage_trial trial;
    struct lineage_measured measured = {0};
    enum lineage_status status = lineage_find(store, "002", &trial, &err);
    if (status == LINEAGE_OK)
        status = check_measured(lineage_measure_trial(&measured, store, &trial, &err), &measured, 4);
    lineage_trial_release(&trial);
    return status;
}

static enum lineage_status do_measure_diff(void)
{
    static const char diff[] = "--- a/t.sh\n+++ b/t.sh\n@@ -1,2 +1,2 @@\n-A=1\n-python t.py --lr 1\n+A=2\n+python t.py --lr 2\n";
    struct lineage_measured measured = {0};
    return check_measured(lineage_measure_diff(&measured, diff, sizeof diff - 1, &err), &measured, 2);
}

static const struct {
    const char *name;
    enum lineage_status (*call)(void);
} deeds[] = {
    {"measure", do_measure},
    {"measure diff", do_measure_diff},
    {"blackboard", do_blackboard},
    {"render file", do_render_file},
    {"render foreign", do_render_foreign},
    {"render link", do_render_link},
    {"render stream", do_render_stream},
    {"insights", do_insights},
    {"record", do_record},
    {"append", do_append},
    {"append child", do_append_child},
    {"append many", do_append_many},
    {"restore", do_restore},
    {"import", do_import},
    {"noise", do_noise},
    {"create", do_create},
};

static void put(const char *name, const char *text)
{
    write_file(path_of(name), text, strlen(text));
}

static void put_code(const char *place, const char *name, const char *text)
{
    char *path = join(dir, place), *file = join(path, name);
    for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
    write_file(file, text, strlen(text));
    free(path);
    free(file);
}

static void begin(void)
{
    static const struct row rows[] = {{"000", "s", .status = "baseline", .metric = "0.5", .notes = "alpha=0.1"},
                                      {"001", "s", "000", .status = "keep", .metric = "0.75", .notes = "alpha=0.2"},
                                      {"002", "t", "001", .status = "keep", .metric = "1.5", .notes = "alpha=0.3"},
                                      {"003", "t", "002", .status = "crash", .notes = "failed"},
                                      {"004", "t", "004", .status = "discard", .metric = "0.1", .notes = "n"},
                                      {"", "t", "001", .status = "discard", .notes = "n"},
                                      {"005", "s", "nowhere", .status = "keep", .notes = "n"},
                                      {.id = NULL}};
    dir = make_dir();
    add_rows(dir, rows);
    put("best.json", "{\"exp_id\": \"002\", \"core_metric\": 1.5, \"specialist\": \"t\"}");
    put("person.md", "# Notes\n\nwords of a person\n");
    put("five.tsv", "commit\tval_bpb\tmemory_gb\tstatus\tdescription\nabc\t0.9\t1.0\tkeep\tfirst\nabc\t0.8\t1.0\tkeep\tagain\n");
    put("results.tsv.torn-1", "060\t\ts\t001\t\t\th\t\tcrash\t\t\t\t\t\t\t\tn\n");
    put_code("provenance/001", "run.json", "{\"command\": [\"t\", \"--lr\", \"1\"], \"git\": {\"commit\": \"a\"}}");
    put_code(
        "provenance/002", "run.json",
        "{\"command\": [\"t\", \"--lr\", \"2\"], \"git\": {\"commit\": \"a\", \"against\": \"001\", \"change\": \"+3 -3\"}}");
    put_code("provenance/002", "parent.diff",
             "--- a/t.c\n+++ b/t.c\n@@ -1 +1 @@\n-int a = 2;\n+int a = 3;\n"
             "--- a/t.yaml\n+++ b/t.yaml\n@@ -1,2 +1,2 @@\n-a: {b: [1, 2]}\n-c: 1\n+a: {b: [1, 3]}\n+c: 2\n");
    char *link = join(dir, "link.md"), *null = join(dir, "null");
    assert_int_equal(symlink("block.md", link), 0);
    assert_int_equal(symlink("/dev/null", null), 0);
    free(link);
    free(null);
    assert_int_equal(
        lineage_store_open(&store, dir, &(struct lineage_open_options){.direction = LINEAGE_HIGHER, .no_mirror = true}, &err),
        LINEAGE_OK);
}

static void end(void)
{
    lineage_store_close(store);
    remove_dir(dir);
}

/* Whether or not the call succeeded, everything that existed before it still exists. */
static void check(const char *name, unsigned n, const char *before, enum lineage_status status)
{
    size_t length;
    char *now = read_file(path_of("results.tsv"), &length), *person;
    if (strncmp(now, before, strlen(before)) != 0 || (length && now[length - 1] != '\n'))
        fail_msg("%s, piece %u: rows have changed", name, n);
    free(now);
    person = read_file(path_of("person.md"), &length);
    char *aside = file_exists(path_of("person.md.before-1")) ? read_file(path_of("person.md.before-1"), &length) : NULL;
    if (!strstr(person, "words of a person") && !(aside && strstr(aside, "words of a person")))
        fail_msg("%s, piece %u: a person's words are gone", name, n);
    free(aside);
    free(person);
    if (status != LINEAGE_OK && (!struck || !err.text[0] || err.status != status))
        fail_msg("%s, piece %u: status %d: %s", name, n, (int)status, err.text);
}

static void do_without_piece(size_t i, unsigned n)
{
    size_t length;
    begin();
    char *before = read_file(path_of("results.tsv"), &length);
    struck = false;
    err = (struct lineage_error){0};
    countdown = n;
    enum lineage_status status = deeds[i].call();
    countdown = 0;
    check(deeds[i].name, n, before, status);
    if (!struck && status != LINEAGE_OK)
        fail_msg("%s: %s", deeds[i].name, err.text);
    /* Memory is available again, so the call must succeed. It may find that its row exists, because the first
     * call ran out of memory only when it copied the added row for the caller. */
    if (status != LINEAGE_OK && (status = deeds[i].call()) != LINEAGE_OK && status != LINEAGE_EEXIST)
        fail_msg("%s, piece %u: not done when it could be: %s", deeds[i].name, n, err.text);
    free(before);
    end();
}

static void what_there_is_no_memory_for_is_not_done_by_half(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++) {
        unsigned tried = 0;
        begin();
        n_allocations = 0;
        deed = i + 1;
        listing = true;
        const enum lineage_status status = deeds[i].call();
        listing = false;
        end();
        if (status != LINEAGE_OK)
            fail_msg("%s: %s", deeds[i].name, err.text);
        for (unsigned n = 1; n <= n_allocations; n++)
            if (is_new[n])
                do_without_piece(i, n), tried++;
        print_message("%s: %u of %u allocations\n", deeds[i].name, tried, n_allocations);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_there_is_no_memory_for_is_not_done_by_half)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
