/*
 * chain.c: follows a trial's parents up to the root.
 *
 * A parent is a name, not a row: it may be missing, come after its child, or lead back into the walk. So visited rows
 * are recorded (in a hash table of seqs, which is cheap compared with reading a row), and the result of the walk tells
 * how it ended. Trials are loaded only when it is known which of them are shown: for most rows of a chain of a hundred
 * thousand, only three columns are read.
 */
#include <lineage/query.h>

#include <stdlib.h>
#include <string.h>

#include "../mirror/statement.h"
#include "questions.h"

/* One trial of the walk; the walk starts at the given trial and goes up. */
struct link {
    int64_t seq;
    size_t passed_over; /* trials not shown between this one and the next one up */
};

struct walk {
    struct mirror *mirror;
    enum mirror_chain_rule rule;
    struct link *links;
    size_t n, capacity;
    sqlite3_int64 *visited; /* open addressing; the number of slots is a power of two, and 0 is an empty slot */
    size_t n_visited, slots;
    struct lineage_chain *chain;
};

/* Multiplies by 2^64 divided by the golden ratio (Knuth 6.4), which spreads the close row numbers of a chain over the
 * slots. */
static size_t slot_of(const struct walk *walk, int64_t seq)
{
    size_t slot = (size_t)((uint64_t)seq * 0x9e3779b97f4a7c15u) & (walk->slots - 1);
    while (walk->visited[slot] && walk->visited[slot] != seq)
        slot = (slot + 1) & (walk->slots - 1);
    return slot;
}

/* The table is kept at most half full, so that a search reaches an empty slot, where it ends, after a step or two. */
static bool grow_visited(struct walk *walk)
{
    struct walk larger = *walk;
    larger.slots = walk->slots ? walk->slots * 2 : 64;
    larger.visited = calloc(larger.slots, sizeof *larger.visited);
    if (!larger.visited)
        return false;
    for (size_t i = 0; i < walk->slots; i++)
        if (walk->visited[i])
            larger.visited[slot_of(&larger, walk->visited[i])] = walk->visited[i];
    free(walk->visited);
    *walk = larger;
    return true;
}

/* Returns false if seq was visited before (then *again is true) or if memory ran out. The seq is recorded before the
 * row is read, so that a row that is its own parent ends the walk at the second step. */
static bool visit(struct walk *walk, int64_t seq, bool *again)
{
    *again = false;
    if (walk->n_visited * 2 >= walk->slots && !grow_visited(walk))
        return false;
    size_t slot = slot_of(walk, seq);
    *again = walk->visited[slot] == seq;
    if (*again)
        return false;
    walk->visited[slot] = seq;
    walk->n_visited++;
    return true;
}

static bool add_link(struct walk *walk, int64_t seq)
{
    if (walk->n == walk->capacity) {
        size_t capacity = walk->capacity ? walk->capacity * 2 : 32;
        struct link *links = realloc(walk->links, capacity * sizeof *links);
        if (!links)
            return false;
        walk->links = links;
        walk->capacity = capacity;
    }
    walk->links[walk->n++] = (struct link){.seq = seq};
    return true;
}

/* A trial's parent, and whether the trial itself is shown. */
struct step {
    char *parent;
    char *id;
    bool kept;
};

/* Reads three columns instead of the whole row, because a deep chain looks at every trial but shows few. */
static enum lineage_status read_step(struct mirror *mirror, int64_t seq, struct step *step,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(
        mirror, &stmt,
        "SELECT parent_exp, status IN ('keep', 'baseline'), exp_id FROM trials WHERE seq = ?", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, seq);
    status = mirror_step(mirror, stmt, err);
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

/* Records how the walk ended and the name of the last parent, because a reader who sees "missing" needs to know which
 * name is missing: another tool may have misspelled it. If memory runs out the name stays NULL, which the loaders
 * check. */
static void end_at(struct lineage_chain *chain, enum lineage_chain_end end, const char *id)
{
    chain->end = end;
    chain->end_id = strdup(id);
}

/* Adds the trial to the walk, or counts it as passed over. The trial at which the walk starts is always added, kept or
 * not. */
static enum lineage_status take(struct walk *walk, int64_t seq, bool kept,
                                struct lineage_error *err)
{
    if (!kept && walk->n && walk->rule == MIRROR_CHAIN_KEPT) {
        walk->links[walk->n - 1].passed_over++;
        return LINEAGE_OK;
    }
    return add_link(walk, seq) ? LINEAGE_OK : store_no_memory(err);
}

/* Uses the id as spelled in the row, because the child may name its parent in the other spelling. */
static enum lineage_status end_in_cycle(struct walk *walk, int64_t seq, struct lineage_error *err)
{
    struct step again = {0};
    enum lineage_status status = read_step(walk->mirror, seq, &again, err);
    if (status == LINEAGE_OK)
        end_at(walk->chain, LINEAGE_CHAIN_CYCLE, again.id);
    free(again.parent);
    free(again.id);
    return status;
}

/* *seq becomes the seq of the parent, or 0 at the end of the walk. The two chain rules differ only in this look-up:
 * fieldkit compares ids as text, so a chain for its printer must not find exp_014 for 014. */
static enum lineage_status go_up(struct walk *walk, const char *name, int64_t *seq,
                                 struct lineage_error *err)
{
    bool again;
    *seq = 0;
    if (!name[0]) {
        end_at(walk->chain, LINEAGE_CHAIN_ROOT, "");
        return LINEAGE_OK;
    }
    enum lineage_status status = walk->rule == MIRROR_CHAIN_KEPT
                                     ? mirror_find(walk->mirror, name, seq, err)
                                     : mirror_find_exact(walk->mirror, name, seq, err);
    if (status == LINEAGE_ENOTFOUND) {
        end_at(walk->chain, LINEAGE_CHAIN_MISSING, name);
        return LINEAGE_OK;
    }
    if (status != LINEAGE_OK || visit(walk, *seq, &again))
        return status;
    status = again ? end_in_cycle(walk, *seq, err) : store_no_memory(err);
    *seq = 0;
    return status;
}

static enum lineage_status climb(struct walk *walk, int64_t *seq, struct lineage_error *err)
{
    struct step step = {0};
    enum lineage_status status = read_step(walk->mirror, *seq, &step, err);
    if (status == LINEAGE_OK)
        status = take(walk, *seq, step.kept, err);
    if (status == LINEAGE_OK)
        status = go_up(walk, step.parent, seq, err);
    free(step.parent);
    free(step.id);
    return status;
}

/* Links are loaded in reverse, because the walk goes up and a chain is listed from its root. */
static enum lineage_status load_links(struct walk *walk, struct lineage_error *err)
{
    struct lineage_chain *chain = walk->chain;
    enum lineage_status status = LINEAGE_OK;
    chain->trials = calloc(walk->n, sizeof *chain->trials);
    chain->passed_over = calloc(walk->n, sizeof *chain->passed_over);
    if (!chain->trials || !chain->passed_over || !chain->end_id)
        return store_no_memory(err);
    for (size_t i = 0; status == LINEAGE_OK && i < walk->n; i++) {
        const struct link *link = &walk->links[walk->n - 1 - i];
        status = mirror_load(walk->mirror, link->seq, &chain->trials[i], err);
        chain->passed_over[i] = link->passed_over;
        chain->n = i + 1;
    }
    return status;
}

/* Trials in the middle of the chain are not loaded, because loading is most of the cost of a deep chain. */
static enum lineage_status load_ends(struct walk *walk, size_t first, size_t last, struct mirror_chain_ends *ends,
                                     struct arena *arena, struct lineage_error *err)
{
    bool whole = first >= walk->n || last >= walk->n - first;
    const char *end_id = walk->chain->end_id;
    *ends = (struct mirror_chain_ends){.total = walk->n, .first = whole ? walk->n : first, .end = walk->chain->end};
    ends->n = whole ? walk->n : first + last;
    ends->trials = arena_alloc(arena, ends->n, sizeof *ends->trials);
    ends->passed_over = arena_alloc(arena, ends->n, sizeof *ends->passed_over);
    ends->end_id = end_id ? arena_text(arena, end_id, strlen(end_id)) : NULL;
    enum lineage_status status = ends->trials && ends->passed_over && ends->end_id ? LINEAGE_OK : store_no_memory(err);
    for (size_t i = 0; status == LINEAGE_OK && i < ends->n; i++) {
        size_t from_root = i < ends->first ? i : walk->n - ends->n + i;
        const struct link *link = &walk->links[walk->n - 1 - from_root];
        status = mirror_borrow(walk->mirror, link->seq, &ends->trials[i], arena, err);
        ends->passed_over[i] = link->passed_over;
    }
    return status;
}

/* The new row is not in the log yet, so the walk cannot reach it. If an ancestor names the new row as its parent, in
 * either spelling, the walk ends with that name. */
enum lineage_status mirror_descends(struct mirror *mirror, const char *from, const char *ancestor,
                                    bool *descends, struct lineage_error *err)
{
    struct lineage_chain chain = {0};
    int64_t seq;
    *descends = false;
    enum lineage_status status = mirror_find(mirror, from, &seq, err);
    if (status == LINEAGE_ENOTFOUND)
        return LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = mirror_chain(mirror, seq, MIRROR_CHAIN_KEPT, &chain, err);
    if (status == LINEAGE_OK && chain.end == LINEAGE_CHAIN_MISSING)
        *descends =
            strcmp(chain.end_id, ancestor) == 0 ||
            (strncmp(chain.end_id, "exp_", 4) == 0 && strcmp(chain.end_id + 4, ancestor) == 0) ||
            (strncmp(ancestor, "exp_", 4) == 0 && strcmp(ancestor + 4, chain.end_id) == 0);
    lineage_chain_release(&chain);
    return status;
}

/* Collects the links from the trial up to the end of the walk. The first row is marked as visited too; otherwise a
 * cycle that leads back to it would be walked twice. */
static enum lineage_status walk_up(struct walk *walk, int64_t seq, struct lineage_error *err)
{
    bool again;
    enum lineage_status status = LINEAGE_OK;
    if (!visit(walk, seq, &again))
        status = store_no_memory(err);
    while (status == LINEAGE_OK && seq)
        status = climb(walk, &seq, err);
    return status;
}

enum lineage_status mirror_chain(struct mirror *mirror, int64_t seq, enum mirror_chain_rule rule,
                                 struct lineage_chain *chain, struct lineage_error *err)
{
    struct walk walk = {.mirror = mirror, .rule = rule, .chain = chain};
    *chain = (struct lineage_chain){0};
    enum lineage_status status = walk_up(&walk, seq, err);
    if (status == LINEAGE_OK)
        status = load_links(&walk, err);
    if (status != LINEAGE_OK)
        lineage_chain_release(chain);
    free(walk.links);
    free(walk.visited);
    return status;
}

/* Many tools write no parents: each trial changes the files that the last keep left. Collects the kept and baseline trials up
 * to the given one, newest first, if no row names a parent. */
static enum lineage_status walk_keeps(struct walk *walk, int64_t seq, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(walk->mirror, &stmt,
                       "SELECT seq FROM trials WHERE status IN ('keep', 'baseline') AND seq <= ?1"
                       " AND NOT EXISTS (SELECT 1 FROM trials WHERE parent_exp <> '') ORDER BY seq DESC", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, seq);
    while ((status = mirror_step(walk->mirror, stmt, err)) == LINEAGE_OK)
        if (!add_link(walk, sqlite3_column_int64(stmt, 0))) {
            status = store_no_memory(err);
            break;
        }
    if (status == LINEAGE_ENOTFOUND && walk->n)
        end_at(walk->chain, LINEAGE_CHAIN_ROOT, "");
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status mirror_chain_ends(struct mirror *mirror, int64_t seq, enum mirror_chain_rule rule, size_t first,
                                      size_t last, struct mirror_chain_ends *ends, struct arena *arena,
                                      struct lineage_error *err)
{
    struct lineage_chain chain = {0}; /* used only for how the walk ends */
    struct walk walk = {.mirror = mirror, .rule = rule, .chain = &chain};
    enum lineage_status status = rule == MIRROR_CHAIN_KEPT ? walk_keeps(&walk, seq, err) : LINEAGE_OK;
    bool by_keeps = walk.n > 0;
    if (status == LINEAGE_OK && !by_keeps)
        status = walk_up(&walk, seq, err);
    if (status == LINEAGE_OK)
        status = load_ends(&walk, first, last, ends, arena, err);
    if (status == LINEAGE_OK)
        ends->by_keeps = by_keeps;
    lineage_chain_release(&chain);
    free(walk.links);
    free(walk.visited);
    return status;
}

/* The statement is not reset if `each` fails; the next mirror_prepare does that. */
enum lineage_status mirror_each_parent(struct mirror *mirror, mirror_parent_fn *each, void *context,
                                       struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(mirror, &stmt, "SELECT seq, parent_exp FROM trials ORDER BY seq", err);
    while (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK)
        status = each(context, sqlite3_column_int64(stmt, 0), mirror_text(stmt, 1), err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* This also works for a chain whose loading failed half-way, because n counts the trials that were loaded. */
void lineage_chain_release(struct lineage_chain *chain)
{
    if (!chain)
        return;
    for (size_t i = 0; i < chain->n; i++)
        lineage_trial_release(&chain->trials[i]);
    free(chain->trials);
    free(chain->passed_over);
    free(chain->end_id);
    *chain = (struct lineage_chain){0};
}
