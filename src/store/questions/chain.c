/*
 * chain.c: the chain of a trial: the trial and its kept ancestors.
 *
 * By the native rule, the table `ancestors` of the mirror has the length of the chain, how it ends, and pointers by which an
 * ancestor at any depth is found in a few steps. So both ends of a chain of a hundred thousand trials cost about as much as a
 * chain of three, and only trials that are shown are read from the wide table.
 *
 * Two walks go from parent to parent: that of the tools that share the file, which compare ids as text, and that of a trial
 * whose parents lead into a cycle. They record the rows that they visited.
 */
#include <lineage/query.h>

#include "../mirror/ancestors.h"
#include "../mirror/statement.h"
#include "questions.h"

/* One trial of a chain; links are listed from the given trial up. */
struct link {
    int64_t seq;
    size_t passed_over; /* trials not shown between this one and the next one up */
};

/* A chain without the trials themselves. */
struct found_chain {
    struct mirror *mirror;
    enum mirror_chain_rule rule;
    struct link *links;    /* [n] the last ones, and behind them the first ones */
    size_t n, capacity;
    size_t first;          /* number of links before the gap */
    size_t total;          /* length of the chain; total - n links are left out */
    bool by_keeps;         /* in a log without parents, let the keeps before the trial stand for its ancestors */
    size_t keeps;          /* in such a log: their number */
    enum lineage_chain_end end;
    char *end_id;
    uint64_t *visited; /* [n_words] a bit for each seq */
    size_t n_words;
};

static void release(struct found_chain *found)
{
    free(found->links);
    free(found->visited);
    free(found->end_id);
}

static bool add_link(struct found_chain *found, int64_t seq, size_t passed_over)
{
    if (!LIST_ROOM(found->links, found->n, found->capacity))
        return false;
    found->links[found->n++] = (struct link){seq, passed_over};
    return true;
}

/* Records how the chain ends and the name of the last parent, because a reader who sees "missing" needs to know which name is
 * missing: another tool may have misspelled it. */
static enum lineage_status end_at(struct found_chain *found, enum lineage_chain_end end, const char *id,
                                  struct lineage_error *err)
{
    found->end = end;
    found->end_id = strdup(id);
    return found->end_id ? LINEAGE_OK : store_no_memory(err);
}

/* ---- by the table of ancestors ---- */

/* A row of the table (schema/mirror.sql). */
struct ancestor {
    int64_t seq, above, jump, top;
    size_t passed_over, depth;
    bool kept;
    enum ancestors_kind kind;
};

static enum lineage_status damaged(struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    mirror_note_damage(mirror);
    return store_fail(err, LINEAGE_EDB, "lineage.db: the ancestors of row %lld are wrong", (long long)seq);
}

static enum lineage_status read_ancestor(struct ancestor *ancestor, struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_row(
        mirror, &stmt, err, "SELECT above, jump, top, passed_over, depth, kept, kind FROM ancestors WHERE seq = ?", "i", seq);
    if (status == LINEAGE_OK)
        *ancestor = (struct ancestor){.seq = seq,
                                      .above = sqlite3_column_int64(stmt, 0),
                                      .jump = sqlite3_column_int64(stmt, 1),
                                      .top = sqlite3_column_int64(stmt, 2),
                                      .passed_over = (size_t)sqlite3_column_int64(stmt, 3),
                                      .depth = (size_t)sqlite3_column_int64(stmt, 4),
                                      .kept = sqlite3_column_int(stmt, 5) != 0,
                                      .kind = (enum ancestors_kind)sqlite3_column_int(stmt, 6)};
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? damaged(mirror, seq, err) : status;
}

/* Goes to another ancestor. The depth must fall, so that a table that is wrong cannot make a walk endless. */
static enum lineage_status go_to(struct ancestor *at, struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    size_t depth = at->depth;
    enum lineage_status status = read_ancestor(at, mirror, seq, err);
    return status == LINEAGE_OK && at->depth >= depth ? damaged(mirror, seq, err) : status;
}

/* Goes up to the kept ancestor that has `depth` kept ancestors itself. */
static enum lineage_status go_to_depth(struct ancestor *at, struct mirror *mirror, size_t depth, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    while (status == LINEAGE_OK && at->depth > depth) {
        struct ancestor far = {.depth = 0};
        status = read_ancestor(&far, mirror, at->jump, err);
        if (status == LINEAGE_OK && far.depth >= depth && far.depth < at->depth)
            *at = far;
        else if (status == LINEAGE_OK)
            status = go_to(at, mirror, at->above, err);
    }
    return status;
}

/* Adds n links, from `at` up. */
static enum lineage_status add_links(struct found_chain *found, struct ancestor *at, size_t n, struct lineage_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (i)
            TRY(go_to(at, found->mirror, at->above, err));
        if (!add_link(found, at->seq, at->passed_over))
            TRY(store_no_memory(err));
    }
    return LINEAGE_OK;
}

/* The trial at the top has no parent, or names one that is missing. */
static enum lineage_status find_end(struct found_chain *found, int64_t top, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_row(found->mirror, &stmt, err, "SELECT parent_exp FROM trials WHERE seq = ?", "i", top);
    if (status == LINEAGE_OK)
        status = end_at(found, *mirror_text(stmt, 0) ? LINEAGE_CHAIN_MISSING : LINEAGE_CHAIN_ROOT, mirror_text(stmt, 0), err);
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? damaged(found->mirror, top, err) : status;
}

/* Finds the `first` first and the `last` last links of a chain of found->total links that ends with `at`. */
static enum lineage_status find_ends(struct found_chain *found, struct ancestor *at, size_t first, size_t last,
                                     struct lineage_error *err)
{
    bool whole = first >= found->total || last >= found->total - first;
    found->first = whole ? found->total : first;
    TRY(add_links(found, at, whole ? found->total : last, err));
    if (whole || !first)
        return LINEAGE_OK;
    TRY(go_to_depth(at, found->mirror, first - 1, err));
    return add_links(found, at, first, err);
}

/* ---- by a walk ---- */

/* Returns false if seq was visited before (then *again is true) or if memory ran out. The seq is recorded before the
 * row is read, so that a row that is its own parent ends the walk at the second step. */
static bool visit(struct found_chain *found, int64_t seq, bool *again)
{
    const size_t word = (size_t)seq / 64, wanted = word + (size_t)mirror_position(found->mirror)->rows / 64 + 1;
    const uint64_t bit = (uint64_t)1 << seq % 64;
    *again = false;
    if (word >= found->n_words) { /* the first row of the walk, or one that another process has just added */
        uint64_t *grown = realloc(found->visited, wanted * sizeof *grown);
        if (!grown)
            return false;
        memset(grown + found->n_words, 0, (wanted - found->n_words) * sizeof *grown);
        found->visited = grown;
        found->n_words = wanted;
    }
    *again = found->visited[word] & bit;
    found->visited[word] |= bit;
    return !*again;
}

/* A trial's parent, and whether the trial itself is shown. */
struct step {
    char *parent;
    char *id;
    bool kept;
};

/* Reads three columns instead of the whole row, because a deep chain looks at every trial but shows few. */
static enum lineage_status read_step(struct mirror *mirror, int64_t seq, struct step *step, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_row(
        mirror, &stmt, err, "SELECT parent_exp, status IN ('keep', 'baseline'), exp_id FROM trials WHERE seq = ?", "i", seq);
    if (status == LINEAGE_OK) {
        step->parent = strdup(mirror_text(stmt, 0));
        step->kept = sqlite3_column_int(stmt, 1);
        step->id = strdup(mirror_text(stmt, 2));
        if (!step->parent || !step->id)
            status = store_no_memory(err);
    }
    sqlite3_reset(stmt);
    return status;
}

/* Adds the trial to the walk, or counts it as passed over. The trial at which the walk starts is always added, kept or
 * not. */
static enum lineage_status take(struct found_chain *found, int64_t seq, bool kept, struct lineage_error *err)
{
    if (!kept && found->n && found->rule == MIRROR_CHAIN_KEPT) {
        found->links[found->n - 1].passed_over++;
        return LINEAGE_OK;
    }
    return add_link(found, seq, 0) ? LINEAGE_OK : store_no_memory(err);
}

/* Uses the id as spelled in the row, because the child may name its parent in the other spelling. */
static enum lineage_status end_in_cycle(struct found_chain *found, int64_t seq, struct lineage_error *err)
{
    struct step again = {0};
    enum lineage_status status = read_step(found->mirror, seq, &again, err);
    if (status == LINEAGE_OK)
        status = end_at(found, LINEAGE_CHAIN_CYCLE, again.id, err);
    free(again.parent);
    free(again.id);
    return status;
}

/* *seq becomes the seq of the parent, or 0 at the end of the walk. The two chain rules differ only in this look-up:
 * fieldkit compares ids as text, so a chain for its printer must not find exp_014 for 014. */
static enum lineage_status go_up(struct found_chain *found, const char *name, int64_t *seq, struct lineage_error *err)
{
    bool again;
    *seq = 0;
    if (!name[0])
        return end_at(found, LINEAGE_CHAIN_ROOT, "", err);
    enum lineage_status status = found->rule == MIRROR_CHAIN_KEPT ? mirror_find(found->mirror, name, seq, err)
                                                                  : mirror_find_exact(found->mirror, name, seq, err);
    if (status == LINEAGE_ENOTFOUND)
        return end_at(found, LINEAGE_CHAIN_MISSING, name, err);
    if (status != LINEAGE_OK || visit(found, *seq, &again))
        return status;
    status = again ? end_in_cycle(found, *seq, err) : store_no_memory(err);
    *seq = 0;
    return status;
}

static enum lineage_status climb(struct found_chain *found, int64_t *seq, struct lineage_error *err)
{
    struct step step = {0};
    enum lineage_status status = read_step(found->mirror, *seq, &step, err);
    if (status == LINEAGE_OK)
        status = take(found, *seq, step.kept, err);
    if (status == LINEAGE_OK)
        status = go_up(found, step.parent, seq, err);
    free(step.parent);
    free(step.id);
    return status;
}

/* Collects the links from the trial up to the end of the walk, and leaves the middle out. The first row is marked as visited
 * too; otherwise a cycle that leads back to it would be walked twice. */
static enum lineage_status walk_up(struct found_chain *found, int64_t seq, size_t first, size_t last, struct lineage_error *err)
{
    bool again;
    enum lineage_status status = LINEAGE_OK;
    if (!visit(found, seq, &again))
        status = store_no_memory(err);
    while (status == LINEAGE_OK && seq)
        status = climb(found, &seq, err);
    TRY(status);
    found->total = found->first = found->n;
    if (first >= found->total || last >= found->total - first)
        return LINEAGE_OK;
    memmove(&found->links[last], &found->links[found->total - first], first * sizeof *found->links);
    found->n = first + last;
    found->first = first;
    return LINEAGE_OK;
}

/* ---- both ---- */

/* Many tools write no parents: each trial changes the files that the last keep left. Such a trial has no ancestors, but the
 * block lists the kept trials up to it. */
static enum lineage_status find_without_parents(struct found_chain *found, struct ancestor *at, size_t first, size_t last,
                                                struct lineage_error *err)
{
    found->keeps = at->depth;
    found->by_keeps = found->by_keeps && (at->kept || at->above);
    found->total = found->by_keeps ? at->depth + 1 : 1;
    TRY(find_ends(found, at, first, last, err));
    return end_at(found, LINEAGE_CHAIN_ROOT, "", err);
}

static enum lineage_status find_chain(struct found_chain *found, int64_t seq, size_t first, size_t last,
                                      struct lineage_error *err)
{
    struct ancestor at = {.depth = 0};
    if (found->rule == MIRROR_CHAIN_ALL)
        return walk_up(found, seq, first, last, err);
    TRY(read_ancestor(&at, found->mirror, seq, err));
    found->by_keeps = found->by_keeps && at.kind == ANCESTORS_NO_PARENTS;
    if (at.kind == ANCESTORS_CYCLE)
        return walk_up(found, seq, first, last, err);
    if (at.kind == ANCESTORS_NO_PARENTS)
        return find_without_parents(found, &at, first, last, err);
    found->total = at.depth + 1;
    TRY(find_end(found, at.top, err));
    return find_ends(found, &at, first, last, err);
}

/* Links are loaded in reverse, because they lead up and a chain is listed from its root. */
static enum lineage_status load_links(const struct found_chain *found, struct lineage_trial *trials, size_t *passed_over,
                                      struct arena *arena, struct lineage_error *err)
{
    for (size_t i = 0; i < found->n; i++) {
        const struct link *link = &found->links[found->n - 1 - i];
        TRY(mirror_borrow(found->mirror, link->seq, &trials[i], arena, err));
        passed_over[i] = link->passed_over;
    }
    return LINEAGE_OK;
}

enum lineage_status mirror_descends(struct mirror *mirror, const char *from, const char *ancestor, bool *descends,
                                    struct lineage_error *err)
{
    RELEASED_BY(release) struct found_chain found = {.mirror = mirror, .rule = MIRROR_CHAIN_KEPT};
    int64_t seq;
    *descends = false;
    enum lineage_status status = mirror_find(mirror, from, &seq, err);
    if (status == LINEAGE_ENOTFOUND)
        return LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = find_chain(&found, seq, 0, 1, err);
    /* The new row is not in the log yet, so the walk cannot reach it. If an ancestor names the new row as its parent, in
     * either spelling, the chain ends with that name. */
    if (status == LINEAGE_OK && found.end == LINEAGE_CHAIN_MISSING)
        *descends = strcmp(found.end_id, ancestor) == 0 ||
                    (strncmp(found.end_id, "exp_", 4) == 0 && strcmp(found.end_id + 4, ancestor) == 0) ||
                    (strncmp(ancestor, "exp_", 4) == 0 && strcmp(ancestor + 4, found.end_id) == 0);
    return status;
}

/* All trials share one arena: a chain may have a hundred thousand. */
enum lineage_status mirror_chain(struct mirror *mirror, int64_t seq, size_t last, struct lineage_chain *chain,
                                 struct lineage_error *err)
{
    RELEASED_BY(release) struct found_chain found = {.mirror = mirror, .rule = MIRROR_CHAIN_KEPT};
    *chain = (struct lineage_chain){0};
    enum lineage_status status = find_chain(&found, seq, 0, last, err);
    if (status == LINEAGE_OK) {
        chain->memory = calloc(1, sizeof(struct arena));
        chain->trials = calloc(found.n, sizeof *chain->trials);
        chain->passed_over = calloc(found.n, sizeof *chain->passed_over);
        if (!chain->memory || !chain->trials || !chain->passed_over)
            status = store_no_memory(err);
    }
    if (status == LINEAGE_OK)
        status = load_links(&found, chain->trials, chain->passed_over, chain->memory, err);
    if (status == LINEAGE_OK) {
        chain->n = found.n;
        chain->left_out = found.total - found.n;
        chain->end = found.end;
        chain->keeps = found.keeps;
        chain->end_id = found.end_id;
        found.end_id = NULL;
    } else {
        lineage_chain_release(chain);
    }
    return status;
}

enum lineage_status mirror_chain_ends(struct mirror *mirror, int64_t seq, enum mirror_chain_rule rule, size_t first, size_t last,
                                      struct mirror_chain_ends *ends, struct arena *arena, struct lineage_error *err)
{
    RELEASED_BY(release) struct found_chain found = {.mirror = mirror, .rule = rule, .by_keeps = rule == MIRROR_CHAIN_KEPT};
    TRY(find_chain(&found, seq, first, last, err));
    *ends = (struct mirror_chain_ends){
        .n = found.n, .total = found.total, .first = found.first, .end = found.end, .by_keeps = found.by_keeps};
    ends->trials = arena_alloc(arena, ends->n, sizeof *ends->trials);
    ends->passed_over = arena_alloc(arena, ends->n, sizeof *ends->passed_over);
    ends->end_id = arena_text(arena, found.end_id, strlen(found.end_id));
    if (!ends->trials || !ends->passed_over || !ends->end_id)
        return store_no_memory(err);
    return load_links(&found, ends->trials, ends->passed_over, arena, err);
}

enum lineage_status mirror_each_parent(struct mirror *mirror, mirror_parent_fn *each, void *context, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "SELECT seq, parent_exp FROM trials ORDER BY seq", err);
    while (mirror_next(&status, mirror, stmt, err))
        status = each(context, sqlite3_column_int64(stmt, 0), mirror_text(stmt, 1), err);
    return status;
}

void lineage_chain_release(struct lineage_chain *chain)
{
    if (!chain)
        return;
    if (chain->memory)
        arena_release(chain->memory);
    free(chain->memory);
    free(chain->trials);
    free(chain->passed_over);
    free(chain->end_id);
    *chain = (struct lineage_chain){0};
}
