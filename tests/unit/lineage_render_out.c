/* Tests the output of a rendered block: files that somebody saves meanwhile, devices, links, records, and small
 * budgets. */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "files/fs.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;
static char *dir;
static struct lineage_store *store;

static const struct row rows[] = {
    {"000", "a", .status = "baseline", .metric = "0.5"}, {"001", "a", "000", .status = "keep", .metric = "0.25"}, {.id = NULL}};

static void begin(void)
{
    dir = make_dir();
    add_rows(dir, rows);
    store = open_store(dir, LINEAGE_LOWER, NULL);
}

static void end(void)
{
    lineage_store_close(store);
    remove_dir(dir);
}

static char *render(const struct lineage_render_options *options, size_t *length)
{
    char *text;
    if (lineage_render(&text, length, store, options, &err) != LINEAGE_OK)
        fail_msg("%s", err.text);
    return text;
}

/* ---- the block ---- */

static void a_section_s_name_is_one_that_can_be_asked_for(void **state)
{
    struct lineage_render_options options;
    size_t length, n = 0;
    (void)state;
    begin();
    lineage_render_options_init(&options);
    static const char *const names[] = {LINEAGE_RENDER_SECTIONS, NULL};
    for (const char *const *name = names; *name; name++, n++) {
        options.sections = *name;
        lineage_free(render(&options, &length));
    }
    assert_int_equal(n, 19);
    char *ours = render(&options, &length), *theirs;
    lineage_free(ours);
    options.sections = "chain";
    ours = render(&options, &length);
    options.sections = "knowledge"; /* its former name */
    theirs = render(&options, &length);
    assert_string_equal(ours, theirs);
    lineage_free(ours);
    lineage_free(theirs);
    options.sections = "knowledges";
    assert_int_equal(lineage_render(&ours, &length, store, &options, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "known are best"));
    ours = render(NULL, &length);
    lineage_render_options_init(&options);
    theirs = render(&options, &length);
    assert_string_equal(ours, theirs); /* NULL means the default options */
    lineage_free(ours);
    lineage_free(theirs);
    end();
}

/* The block fits into any budget, and no character is cut in half. */
static void any_budget_holds(void **state)
{
    struct lineage_render_options options;
    size_t length;
    (void)state;
    begin();
    lineage_store_close(store);
    static const char config[] = "{\"metric_label\": \"\xc3\xa9\xc3\xa9\xc3\xa9\xe2\x82\xac\"}";
    write_file(in_dir(dir, "lineage.json"), config, sizeof config - 1);
    store = open_store(dir, LINEAGE_LOWER, NULL);
    lineage_render_options_init(&options);
    for (options.max_bytes = 1; options.max_bytes < 400; options.max_bytes++) {
        char *text = render(&options, &length);
        assert_true(length <= options.max_bytes);
        assert_true(lineage_text_is_utf8(text, length));
        lineage_free(text);
    }
    end();
}

/* If a noise floor is set, the text about the threshold states the number of seeds per score. */
static void the_noise_floor_is_said(void **state)
{
    static const struct {
        const char *config, *said;
    } cases[] = {{"{\"noise_std\": 0.01}", "; 1 seed a score; 100 trials a night)"},
                 {"{\"noise_std\": 0.01, \"noise_seeds\": 4}", "; 4 seeds a score; 100 trials a night)"},
                 {"{\"noise_std\": 0.01, \"noise_freedom\": 2, \"night_trials\": 12}",
                  "equal trials 0.01 from 3 seeds, 95 % interval 0.00521 to 0.0628; 1 seed a score; 12 trials a night)"},
                 {"{\"min_delta\": 0.01}", "(min_delta; noise unknown: `lineage run"},
                 {"{}", "(noise unknown: `lineage run"}};
    size_t length;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        lineage_store_close(store);
        write_file(in_dir(dir, "lineage.json"), cases[i].config, strlen(cases[i].config));
        store = open_store(dir, LINEAGE_LOWER, NULL);
        char *text = render(NULL, &length);
        assert_non_null(strstr(text, cases[i].said));
        lineage_free(text);
        end();
    }
}

static void what_is_asked_for_is_all_that_is_shown(void **state)
{
    struct lineage_render_options options;
    size_t length;
    (void)state;
    begin();
    lineage_render_options_init(&options);
    options.top_k = options.recent = options.full = 0;
    char *text = render(&options, &length);
    assert_null(strstr(text, "eaderboard"));
    lineage_free(text);
    end();
}

/* Renders a store with these rows and settings as the blackboard's files, and returns one of the files (free). */
static char *board_file(const struct row *given, const char *config, const char *file)
{
    size_t length;
    char name[64];
    dir = make_dir();
    add_rows(dir, given);
    write_file(in_dir(dir, "lineage.json"), config, strlen(config));
    write_file(in_dir(dir, "best.json"), "{\"exp_id\": \"000\"}", 17);
    assert_int_equal(lineage_store_open(&store, dir, NULL, &err), LINEAGE_OK);
    char *to = join(dir, "board");
    if (lineage_render_blackboard(store, to, NULL, &err) != LINEAGE_OK)
        fail_msg("%s", err.text);
    free(to);
    snprintf(name, sizeof name, "board/%s", file);
    char *text = read_file(in_dir(dir, name), &length);
    end();
    return text;
}

/* Kept trials are sorted by score, in either direction; trials without a score are last. Rows without an id, or in a
 * cycle, do not end a walk over the rows. */
static void a_blackboard_is_made_of_any_rows(void **state)
{
    static const struct row odd[] = {{"000", "a", .status = "keep", .metric = "0.5"},
                                     {"001", "a", "000", .status = "keep"},
                                     {"002", "b", "001", .status = "keep", .metric = "0.75"},
                                     {"", "b", "001", .status = "discard", .metric = "1"},
                                     {"003", "b", "004", .status = "crash"},
                                     {"004", "b", "003", .status = "crash"},
                                     {.id = NULL}};
    static const char *const directions[] = {"{\"direction\": \"higher\"}", "{\"direction\": \"lower\"}"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char *tree = board_file(odd, directions[i], "tree.tsv");
        assert_non_null(strstr(tree, "\n000\t"));
        assert_non_null(strstr(tree, "\t000/001/002\t"));
        free(tree);
        char *text = board_file(odd, directions[i], "LEADERBOARD.md");
        const char *half = strstr(text, "\n| 000 |"), *better = strstr(text, "\n| 002 |"), *none = strstr(text, "\n| 001 |");
        assert_true(half && better && none && (i ? half < better : better < half) && none > half && none > better);
        free(text);
    }
}

/* The columns of the blackboard's own runs have short names; any other column keeps its name. */
static void the_score_is_called_by_a_short_name(void **state)
{
    static const char *const cases[][2] = {{"{\"metric\": \"val_bpb\"}", ", bpb="},
                                           {"{\"metric\": \"train_s\"}", ", time="},
                                           {"{\"metric\": \"core_metric\"}", ", core="},
                                           {"{\"metric\": \"total_s\"}", ", total_s="},
                                           {"{\"metric_label\": \"EM\"}", ", EM="}};
    static const struct row scored[] = {{"000", "a", .status = "keep", .metric = "0.5"}, {.id = NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = board_file(scored, cases[i][0], "KNOWLEDGE.md");
        if (!strstr(text, cases[i][1]))
            fail_msg("no '%s' in %s", cases[i][1], text);
        free(text);
    }
}

/* A list prints the number of items that do not fit. */
static void lists_say_that_there_is_more(void **state)
{
    size_t length;
    char text[64];
    (void)state;
    dir = make_dir();
    for (int i = 0; i < 40; i++) {
        char id[8], specialist[16], *notes = malloc(8192);
        int n = 0;
        snprintf(id, sizeof id, "%03d", i);
        snprintf(specialist, sizeof specialist, "who%d", i);
        for (int p = 0; p < 150; p++)
            n += snprintf(notes + n, 8192 - (size_t)n, "%sp%d=%d", p ? "; " : "", p, i % 3);
        add_rows(dir, (const struct row[]){
                          {id, specialist, .status = i % 2 ? "crash" : "keep", .metric = i % 2 ? NULL : "1", .notes = notes},
                          {.id = NULL}});
        free(notes);
    }
    store = open_store(dir, LINEAGE_LOWER, NULL);
    char *block = render(NULL, &length);
    assert_non_null(strstr(block, ", …)\n"));
    snprintf(text, sizeof text, "more parameters\n");
    assert_non_null(strstr(block, text));
    lineage_free(block);
    end();
}

/* ---- files that others write as well ---- */

static enum meddling { QUIET, GROWS, IS_TOUCHED, IS_REPLACED, APPEARS, GOES, NEVER_RESTS } other;
static unsigned stats;

/* Another program changes the file between two stat calls. */
static int meddle(void *context, const char *call)
{
    const char *path = in_dir(dir, "block.md");
    (void)context;
    if (strcmp(call, "stat") != 0)
        return 0;
    stats++;
    if (other == NEVER_RESTS && file_exists(path)) {
        char text[32];
        snprintf(text, sizeof text, "person %u\n%.*s", stats, (int)(stats % 2), "x");
        write_file(path, text, strlen(text));
        return 0;
    }
    if (other == QUIET || stats != 3)
        return 0;
    if (other == GROWS || other == APPEARS)
        write_file(path, "a person's, and more\n", 21);
    if (other == IS_TOUCHED)
        utimensat(AT_FDCWD, path, (const struct timespec[2]){{1, 1}, {1, 1}}, 0);
    if (other == IS_REPLACED) {
        char *aside = join(dir, "aside.md");
        copy_file(path, aside);
        rename(aside, path);
        free(aside);
    }
    if (other == GOES)
        unlink(path);
    return 0;
}

static enum lineage_status render_file(const char *path)
{
    stats = 0;
    fs_set_fault(meddle, NULL);
    enum lineage_status status = lineage_render_file(store, path, NULL, &err);
    fs_set_fault(NULL, NULL);
    other = QUIET;
    return status;
}

static bool some_file_holds(const char *text)
{
    size_t length;
    bool found = false;
    char **names = list_dir(dir, "block.md");
    for (char **name = names; name && *name; name++) {
        char *held = read_file(in_dir(dir, *name), &length);
        found = found || strstr(held, text);
        free(held);
    }
    free_list(names);
    return found;
}

static void nothing_that_somebody_saves_meanwhile_is_lost(void **state)
{
    char *path;
    (void)state;
    begin();
    path = join(dir, "block.md");
    static const enum meddling kinds[] = {GROWS, IS_TOUCHED, IS_REPLACED};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        write_file(path, "a person's\n", 11);
        other = kinds[i];
        assert_int_equal(render_file(path), LINEAGE_OK);
        assert_true(some_file_holds(kinds[i] == GROWS ? "a person's, and more" : "a person's"));
        assert_true(some_file_holds("001"));
        unlink(path);
    }
    other = APPEARS;
    assert_int_equal(render_file(path), LINEAGE_OK);
    assert_true(some_file_holds("a person's, and more"));
    other = GOES;
    assert_int_equal(render_file(path), LINEAGE_OK);
    assert_true(some_file_holds("001"));
    other = NEVER_RESTS;
    assert_int_equal(render_file(path), LINEAGE_EIO);
    assert_non_null(strstr(err.text, "is being written by somebody else"));
    assert_true(some_file_holds("person "));
    free(path);
    end();
}

static unsigned countdown;
static const char *failing;

static int fail_call(void *context, const char *call)
{
    (void)context;
    return strcmp(call, failing) == 0 && countdown && !--countdown ? EIO : 0;
}

/* A device or a pipe is written to under any name, and is never replaced. */
static void a_stream_is_written_to(void **state)
{
    static const char *const calls[] = {"open", "write", "close"};
    int ends[2], nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char name[64], text[65536];
    struct stat st;
    (void)state;
    begin();
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s/fd/%d", i ? "/proc/self" : "/dev", ends[1]);
        assert_int_equal(lineage_render_file(store, name, NULL, &err), LINEAGE_OK);
        assert_true(read(ends[0], text, sizeof text) > 100);
    }
    char *link = join(dir, "link");
    assert_int_equal(symlink("/dev/null", link), 0);
    assert_int_equal(lineage_render_file(store, link, NULL, &err), LINEAGE_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        failing = calls[i];
        unsigned refused = 0;
        for (unsigned n = 1; n < 60; n++) {
            countdown = n;
            fs_set_fault(fail_call, NULL);
            enum lineage_status status = lineage_render_file(store, link, NULL, &err);
            fs_set_fault(NULL, NULL);
            refused += status != LINEAGE_OK && strstr(err.text, link);
        }
        assert_true(refused > 0); /* the error names this file */
    }
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
    close(nowhere);
    close(ends[0]);
    close(ends[1]);
    free(link);
    end();
}

/* ---- records ---- */

static char *record(const char *text, const char *timestamp, const char *name)
{
    char *path;
    if (lineage_render_record(&path, store, text, strlen(text), timestamp, name, &err) != LINEAGE_OK)
        fail_msg("%s", err.text);
    return path;
}

static void a_record_is_kept_once_by_a_plain_name(void **state)
{
    static const struct {
        const char *text, *timestamp, *name, *path;
    } cases[] = {{"one", "2026-01-02T03:04:05Z", "ada/x-1_{}~", "lineage_snapshots/2026-01-02T03_04_05Z_ada_x-1____.md"},
                 {"one", "2026-01-02T03:04:05Z", "ada/x-1_{}~", "lineage_snapshots/2026-01-02T03_04_05Z_ada_x-1____.md"},
                 {"two", "2026-01-02T03:04:05Z", "ada/x-1_{}~", "lineage_snapshots/2026-01-02T03_04_05Z_ada_x-1____-2.md"},
                 {"six", "2026-01-02T03:04:05Z", "ada/x-1_{}~", "lineage_snapshots/2026-01-02T03_04_05Z_ada_x-1____-3.md"},
                 {"", NULL, NULL, "lineage_snapshots/undated_anyone.md"},
                 {"", "", "", "lineage_snapshots/undated_anyone.md"},
                 {"x", "", "", "lineage_snapshots/undated_anyone-2.md"}};
    (void)state;
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *path = record(cases[i].text, cases[i].timestamp, cases[i].name);
        size_t length;
        assert_string_equal(path, cases[i].path);
        char *held = read_file(in_dir(dir, path), &length);
        assert_string_equal(held, cases[i].text);
        free(held);
        lineage_free(path);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_s_name_is_one_that_can_be_asked_for),
        cmocka_unit_test(any_budget_holds),
        cmocka_unit_test(the_noise_floor_is_said),
        cmocka_unit_test(a_blackboard_is_made_of_any_rows),
        cmocka_unit_test(the_score_is_called_by_a_short_name),
        cmocka_unit_test(lists_say_that_there_is_more),
        cmocka_unit_test(what_is_asked_for_is_all_that_is_shown),
        cmocka_unit_test(nothing_that_somebody_saves_meanwhile_is_lost),
        cmocka_unit_test(a_stream_is_written_to),
        cmocka_unit_test(a_record_is_kept_once_by_a_plain_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
