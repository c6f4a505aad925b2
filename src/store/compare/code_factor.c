/*
 * Whether a trial has a change is read from its files and not from the diffs that led to them, because a later diff may
 * have taken the change back, and two planners may make the same change by different diffs. A change is a list of runs:
 * lines that a diff removes and adds at one place. A trial has a run if its file contains the added lines at least as
 * often as the file of the trial that made the change. It has a run that only removes lines if its file does not
 * contain them more often.
 *
 * The diffs tell which other changes two trials differ in. A run is known by its lines alone, so that the same change at
 * another place counts as the same.
 */
#include "code_factor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <lineage/render.h>

#include "../internal.h"

/* Without this macro uthash calls exit when memory runs out, which a library must not do. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { RUNS_MAX = 20000 }; /* of one diff, so that no diff makes a comparison slow */

struct span {
    const char *text;
    size_t length;
};

struct code_run {
    struct code_run *next;
    struct span file, removed, added;
    uint64_t key, opposite; /* digests of the run, and of the run that takes it back */
    size_t times;           /* of the factor's runs: how often the lines are in the file of the trial that made the change */
};

struct code_diff {
    UT_hash_handle hh;
    struct code_run *runs;
    char digest[LINEAGE_CODE_DIGEST_MAX];
};

struct code_known {
    UT_hash_handle hh;
    struct code_answer answer;
    char digest[LINEAGE_CODE_DIGEST_MAX];
};

/* ---- the runs of a diff ---- */

struct parsing {
    struct code_factor *factor;
    struct code_run **end; /* where the next run is linked */
    struct span file, old_file;
    size_t old_left, new_left, n;
    struct buf removed, added;
    bool failed;
};

static uint64_t key_of(struct span file, const struct buf *removed, const struct buf *added)
{
    uint64_t key = XXH64(file.text ? file.text : "", file.length, 0);
    key = XXH64(removed->data ? removed->data : "", removed->length, key);
    return XXH64(added->data ? added->data : "", added->length, key);
}

static struct span keep(struct parsing *p, const struct buf *bytes)
{
    char *text = arena_text(p->factor->arena, bytes->data ? bytes->data : "", bytes->length);
    p->failed = p->failed || !text || bytes->failed;
    return (struct span){text ? text : "", bytes->length};
}

/* Ends the run of changed lines that was collected, if there is one. */
static void end_run(struct parsing *p)
{
    struct code_run *run = p->removed.length || p->added.length ? arena_alloc(p->factor->arena, 1, sizeof *run) : NULL;
    p->failed = p->failed || (!run && (p->removed.length || p->added.length));
    if (run && !p->failed && p->n < RUNS_MAX) {
        *run = (struct code_run){
            .file = p->file, .key = key_of(p->file, &p->removed, &p->added), .opposite = key_of(p->file, &p->added, &p->removed)};
        run->removed = keep(p, &p->removed);
        run->added = keep(p, &p->added);
        *p->end = run;
        p->end = &run->next;
    }
    p->n += run != NULL;
    buf_reset(&p->removed);
    buf_reset(&p->added);
}

static struct span name_in(struct parsing *p, struct span line)
{
    const char *tab = memchr(line.text, '\t', line.length);
    size_t length = (tab ? (size_t)(tab - line.text) : line.length) - 4;
    const char *name = line.text + 4;
    if (length > 2 && (name[0] == 'a' || name[0] == 'b') && name[1] == '/') {
        name += 2;
        length -= 2;
    }
    char *own = arena_text(p->factor->arena, name, length);
    p->failed = p->failed || !own;
    return (struct span){own ? own : "", own ? length : 0};
}

static bool begins(struct span line, const char *with)
{
    return line.length >= strlen(with) && memcmp(line.text, with, strlen(with)) == 0;
}

/* Reads "-1,5" or "-1" at *at. */
static bool take_range(const char **at, char sign, size_t *lines)
{
    char *end;
    if (**at != sign)
        return false;
    strtoull(*at + 1, &end, 10);
    *lines = 1;
    if (*end == ',')
        *lines = (size_t)strtoull(end + 1, &end, 10);
    *at = end;
    return true;
}

static void take_head(struct parsing *p, struct span line)
{
    char head[96];
    snprintf(head, sizeof head, "%.*s", (int)(line.length < sizeof head ? line.length : sizeof head - 1), line.text);
    const char *at = head + 3;
    if (begins(line, "--- ")) {
        p->old_file = name_in(p, line);
    } else if (begins(line, "+++ ")) {
        p->file = name_in(p, line);
        if (p->file.length == 9 && memcmp(p->file.text, "/dev/null", 9) == 0)
            p->file = p->old_file;
    } else if (!begins(line, "@@ ") || !take_range(&at, '-', &p->old_left) || *at++ != ' ' ||
               !take_range(&at, '+', &p->new_left)) {
        p->old_left = p->new_left = 0;
    }
}

static void take_line(struct parsing *p, struct span line)
{
    char kind = line.length ? line.text[0] : ' ';
    if (kind == '\\')
        return; /* "\ No newline at end of file" */
    p->old_left -= p->old_left && kind != '+';
    p->new_left -= p->new_left && kind != '-';
    if (kind == '+' || kind == '-') {
        buf_add(kind == '+' ? &p->added : &p->removed, line.text + 1, line.length - 1);
        buf_put(kind == '+' ? &p->added : &p->removed, '\n');
    } else {
        end_run(p);
    }
    if (!p->old_left && !p->new_left)
        end_run(p);
}

static enum lineage_status parse(struct code_run **runs, struct code_factor *factor, const char *diff, size_t length,
                                 struct lineage_error *err)
{
    struct parsing p = {.factor = factor, .end = runs};
    *runs = NULL;
    for (const char *at = diff, *end = diff + length; at < end && !p.failed;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const struct span line = {at, (size_t)((stop ? stop : end) - at)};
        if (p.old_left || p.new_left)
            take_line(&p, line);
        else
            take_head(&p, line);
        at = stop ? stop + 1 : end;
    }
    end_run(&p);
    buf_release(&p.removed);
    buf_release(&p.added);
    if (p.failed)
        return store_no_memory(err);
    return p.n <= RUNS_MAX ? LINEAGE_OK
                           : store_fail(err, LINEAGE_ELIMIT, "a diff changes more than %d places, too many to compare", RUNS_MAX);
}

static enum lineage_status read_runs(struct code_run **runs, struct code_factor *factor, const char *digest,
                                     struct lineage_error *err)
{
    struct code_diff *known;
    char *text;
    size_t length;
    HASH_FIND_STR(factor->diffs, digest, known);
    if (known) {
        *runs = known->runs;
        return LINEAGE_OK;
    }
    enum lineage_status status = lineage_code_read(&text, &length, factor->store, digest, err);
    if (status == LINEAGE_OK)
        status = parse(runs, factor, text, length, err);
    lineage_free(text);
    if (status != LINEAGE_OK)
        return status;
    known = arena_alloc(factor->arena, 1, sizeof *known);
    if (!known)
        return store_no_memory(err);
    known->runs = *runs;
    snprintf(known->digest, sizeof known->digest, "%.32s", digest);
    HASH_ADD_STR(factor->diffs, digest, known);
    return LINEAGE_OK;
}

/* ---- whether files contain it ---- */

/* How often whole lines occur in a text. */
static size_t count(struct span text, struct span lines)
{
    size_t n = 0;
    for (size_t at = 0; lines.length && at + lines.length <= text.length;) {
        if (memcmp(text.text + at, lines.text, lines.length) == 0)
            n++;
        const char *stop = memchr(text.text + at, '\n', text.length - at);
        at = stop ? (size_t)(stop - text.text) + 1 : text.length;
    }
    return n;
}

/* Reads a file of the code, with a line end behind its last line; a file that is not there is empty. */
static enum lineage_status read_file(struct buf *out, struct code_factor *factor, const struct lineage_code *code,
                                     struct span name, struct lineage_error *err)
{
    buf_reset(out);
    for (size_t i = 0; i < code->n_files; i++) {
        char *text;
        size_t length;
        if (strlen(code->files[i].name) != name.length || memcmp(code->files[i].name, name.text, name.length) != 0)
            continue;
        enum lineage_status status = lineage_code_read(&text, &length, factor->store, code->files[i].digest, err);
        if (status != LINEAGE_OK)
            return status;
        buf_add(out, text, length);
        if (length && text[length - 1] != '\n')
            buf_put(out, '\n');
        lineage_free(text);
        return out->failed ? store_no_memory(err) : LINEAGE_OK;
    }
    return LINEAGE_OK;
}

/* Counts the lines of a run in the code: those that it adds, or those that it removes if it adds none. */
static enum lineage_status count_run(size_t *times, struct code_factor *factor, const struct lineage_code *code,
                                     const struct code_run *run, struct lineage_error *err)
{
    struct buf text = {0};
    enum lineage_status status = read_file(&text, factor, code, run->file, err);
    if (status == LINEAGE_OK)
        *times = count((struct span){text.data ? text.data : "", text.length}, run->added.length ? run->added : run->removed);
    buf_release(&text);
    return status;
}

static enum lineage_status has_changes(bool *has, struct code_factor *factor, const struct lineage_code *code,
                                       struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    *has = true;
    for (const struct code_run *run = factor->changes; run && *has && status == LINEAGE_OK; run = run->next) {
        size_t times = 0;
        status = count_run(&times, factor, code, run, err);
        *has = run->added.length ? times >= run->times : times <= run->times;
    }
    return status;
}

/* A file may contain NULs, so strstr would not see all of it. */
static bool contains(struct span in, const char *text)
{
    size_t n = strlen(text);
    for (const char *at = in.text, *end = in.text + in.length; in.length >= n && at <= end - n; at++) {
        at = memchr(at, text[0], (size_t)(end - n - at) + 1);
        if (!at)
            return false;
        if (memcmp(at, text, n) == 0)
            return true;
    }
    return false;
}

static enum lineage_status has_text(bool *has, struct code_factor *factor, const struct lineage_code *code,
                                    struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    *has = false;
    for (size_t i = 0; i < code->n_files && !*has && status == LINEAGE_OK; i++) {
        char *text;
        size_t length;
        status = lineage_code_read(&text, &length, factor->store, code->files[i].digest, err);
        *has = status == LINEAGE_OK && contains((struct span){text, length}, factor->text);
        lineage_free(text);
    }
    return status;
}

/* ---- the other changes ---- */

/* A diff that adds or removes the text is the factor as a whole: its other runs are part of the same change. */
static bool has_run_with_text(const struct code_factor *factor, const struct code_run *runs)
{
    for (const struct code_run *run = runs; run; run = run->next)
        if (contains(run->added, factor->text) || contains(run->removed, factor->text))
            return true;
    return false;
}

static bool is_factor(const struct code_factor *factor, const struct code_run *run)
{
    for (const struct code_run *own = factor->changes; own; own = own->next)
        if (run->key == own->key || run->key == own->opposite)
            return true;
    return false;
}

/* How often a run is among the changes of a code, minus how often it was reverted. */
struct counted {
    UT_hash_handle hh;
    uint64_t key;
    size_t times;
};

struct counting {
    struct counted *table;
    struct arena arena;
};

static bool add_run(struct counting *c, const struct code_run *run)
{
    struct counted *found;
    HASH_FIND(hh, c->table, &run->opposite, sizeof run->opposite, found);
    if (found && found->times) {
        found->times--; /* the run takes an earlier one back */
        return true;
    }
    HASH_FIND(hh, c->table, &run->key, sizeof run->key, found);
    if (!found && (found = arena_alloc(&c->arena, 1, sizeof *found))) {
        found->key = run->key;
        HASH_ADD(hh, c->table, key, sizeof found->key, found);
    }
    if (found)
        found->times++;
    return found != NULL;
}

static int by_key(const struct counted *a, const struct counted *b)
{
    return a->key < b->key ? -1 : a->key > b->key;
}

static enum lineage_status find_rest(uint64_t *rest, struct code_factor *factor, const struct lineage_code *code,
                                     struct lineage_error *err)
{
    struct counting c = {.table = NULL};
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; i < code->n_diffs && status == LINEAGE_OK; i++) {
        struct code_run *runs = NULL;
        status = read_runs(&runs, factor, code->diffs[i], err);
        if (status == LINEAGE_OK && factor->text && has_run_with_text(factor, runs))
            continue;
        for (const struct code_run *run = runs; status == LINEAGE_OK && run; run = run->next)
            if (!is_factor(factor, run) && !add_run(&c, run))
                status = store_no_memory(err);
    }
    HASH_SORT(c.table, by_key);
    *rest = 1;
    for (const struct counted *one = c.table; one; one = one->hh.next)
        if (one->times) {
            *rest = XXH64(&one->key, sizeof one->key, *rest);
            *rest = XXH64(&one->times, sizeof one->times, *rest);
        }
    HASH_CLEAR(hh, c.table);
    arena_release(&c.arena);
    return status;
}

/* ---- a trial ---- */

static bool is_lost(enum lineage_status status)
{
    return status == LINEAGE_ENOTFOUND || status == LINEAGE_ECORRUPT;
}

enum lineage_status code_factor_ask(struct code_answer *answer, struct code_factor *factor, const struct lineage_trial *trial,
                                    struct lineage_error *err)
{
    struct lineage_code_note note;
    struct lineage_code code = {0};
    struct code_known *known;
    *answer = (struct code_answer){.known = false};
    if (!lineage_code_note_parse(&note, trial->notes))
        return LINEAGE_OK;
    HASH_FIND_STR(factor->known, note.digest, known);
    if (known) {
        *answer = known->answer;
        return LINEAGE_OK;
    }
    enum lineage_status status = lineage_code_load(&code, factor->store, trial, err);
    if (status == LINEAGE_OK)
        status = factor->text ? has_text(&answer->has, factor, &code, err) : has_changes(&answer->has, factor, &code, err);
    if (status == LINEAGE_OK)
        status = find_rest(&answer->rest, factor, &code, err);
    lineage_code_release(&code);
    answer->known = status == LINEAGE_OK;
    if (status != LINEAGE_OK && !is_lost(status))
        return status;
    known = arena_alloc(factor->arena, 1, sizeof *known);
    if (!known)
        return store_no_memory(err);
    known->answer = *answer;
    memcpy(known->digest, note.digest, sizeof known->digest);
    HASH_ADD_STR(factor->known, digest, known);
    return LINEAGE_OK;
}

/* ---- what the factor is ---- */

/* The code of the trial shows how often the lines of each run are there once the change was made. */
static enum lineage_status take_change(struct code_factor *factor, const struct lineage_trial *trial,
                                       const struct lineage_code *code, const char *digest, struct lineage_error *err)
{
    struct lineage_diffstat stat;
    char text[LINEAGE_DIFFSTAT_MAX], *diff;
    size_t length;
    enum lineage_status status = lineage_code_read(&diff, &length, factor->store, digest, err);
    if (status == LINEAGE_OK)
        status = parse(&factor->changes, factor, diff, length, err);
    if (status == LINEAGE_OK) {
        lineage_diffstat_read(&stat, diff, length);
        snprintf(factor->about, sizeof factor->about, "%s (trial %.60s)", lineage_diffstat_format(text, &stat), trial->exp_id);
    }
    lineage_free(diff);
    if (status == LINEAGE_OK && !factor->changes)
        status = store_fail(err, LINEAGE_EINVAL, "the change of trial '%.60s' adds and removes no lines", trial->exp_id);
    for (struct code_run *run = factor->changes; run && status == LINEAGE_OK; run = run->next)
        status = count_run(&run->times, factor, code, run, err);
    return status;
}

/* Looks for the trial whose own diff has a digest that begins with the text. */
static enum lineage_status find_digest(struct code_factor *factor, const char *text, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial trial = {0};
    char found[LINEAGE_CODE_DIGEST_MAX] = "";
    enum lineage_status status = lineage_query_open(&cursor, factor->store, &all, err);
    if (status != LINEAGE_OK)
        return status;
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK) {
        struct lineage_code code;
        struct lineage_code_note note;
        if (!lineage_code_note_parse(&note, trial.notes) || !note.change[0] ||
            lineage_code_load(&code, factor->store, &trial, NULL) != LINEAGE_OK)
            continue;
        const char *own = code.diffs[code.n_diffs - 1];
        if (strncmp(own, text, strlen(text)) == 0 && found[0] && strcmp(found, own) != 0)
            status = store_fail(err, LINEAGE_EINVAL, "several diffs have digests that begin with '%.40s'", text);
        else if (strncmp(own, text, strlen(text)) == 0 && !found[0]) {
            snprintf(found, sizeof found, "%s", own);
            status = take_change(factor, &trial, &code, own, err);
        }
        lineage_code_release(&code);
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status find_trial(struct code_factor *factor, const char *text, bool *found, struct lineage_error *err)
{
    struct lineage_trial trial = {0};
    struct lineage_code code = {0};
    enum lineage_status status = lineage_find(factor->store, text, &trial, err);
    *found = status == LINEAGE_OK;
    if (status == LINEAGE_ENOTFOUND)
        return LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = lineage_code_load(&code, factor->store, &trial, err);
    if (status == LINEAGE_OK && !code.changed)
        status = store_fail(err, LINEAGE_EINVAL, "trial '%.60s' did not change its code, so it names no change", trial.exp_id);
    if (status == LINEAGE_OK)
        status = take_change(factor, &trial, &code, code.diffs[code.n_diffs - 1], err);
    lineage_code_release(&code);
    lineage_trial_release(&trial);
    return status;
}

enum lineage_status code_factor_open(struct code_factor *factor, struct lineage_store *store, struct arena *arena,
                                     const char *text, struct lineage_error *err)
{
    size_t length = strlen(text);
    bool found = false, hex = length >= 8 && length < LINEAGE_CODE_DIGEST_MAX && strspn(text, "0123456789abcdef") == length;
    *factor = (struct code_factor){.store = store, .arena = arena};
    if (!length)
        return store_fail(err, LINEAGE_EINVAL,
                          "name a change of code: a trial's id, the digest of a diff, or a text in the files");
    enum lineage_status status = find_trial(factor, text, &found, err);
    if (status == LINEAGE_OK && !found && hex) {
        status = find_digest(factor, text, err);
        found = factor->changes != NULL;
    }
    if (status == LINEAGE_OK && !found) {
        factor->text = arena_text(arena, text, length);
        snprintf(factor->about, sizeof factor->about, "'%.100s' in the files", text);
        status = factor->text ? LINEAGE_OK : store_no_memory(err);
    }
    return status;
}

void code_factor_close(struct code_factor *factor)
{
    HASH_CLEAR(hh, factor->known);
    HASH_CLEAR(hh, factor->diffs);
}
