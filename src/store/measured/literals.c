/* literals.c: a set of literals, and how two sets are compared. */
#include "literals.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <lineage/text.h>

/* A literal that moved is looked for among at most this many with its name. */
enum { SAME_NAME_MAX = 64 };

uint64_t literal_hash(uint64_t hash, const char *text, size_t length)
{
    return XXH3_64bits_withSeed(text, length, hash + 0x9E3779B97F4A7C15u);
}

bool literal_name_ok(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7F)
            return false;
    return length > 0 && lineage_text_is_utf8(text, length);
}

void literals_add(struct literal_set *set, const struct literal_place *place, const struct constant *value)
{
    if (set->n == LITERALS_MAX) {
        set->truncated = true;
        return;
    }
    if (place->name_length >= LITERAL_NAME_MAX || !literal_name_ok(place->name, place->name_length))
        return;
    if (!LIST_ROOM(set->items, set->n, set->capacity)) {
        set->failed = true;
        return;
    }
    const struct literal literal = {.key = literal_hash(place->context, place->name, place->name_length),
                                    .within = place->within,
                                    .name_hash = literal_hash(0, place->name, place->name_length),
                                    .scope = place->scope,
                                    .name = arena_text(&set->arena, place->name, place->name_length),
                                    .value = arena_text(&set->arena, value->text, value->length),
                                    .number = value->number,
                                    .line = place->line,
                                    .order = (uint32_t)set->n,
                                    .setting = place->setting};
    if (literal.name && literal.value)
        set->items[set->n++] = literal;
    else
        set->failed = true;
}

void literals_add_call(struct literal_set *set, uint64_t key)
{
    if (set->n_calls == LITERALS_MAX)
        return;
    if (LIST_ROOM(set->calls, set->n_calls, set->calls_capacity))
        set->calls[set->n_calls++] = key;
    else
        set->failed = true;
}

void literals_add_scope(struct literal_set *set, uint32_t line, const char *scope)
{
    if (set->n_scopes == LITERALS_MAX || (set->n_scopes && strcmp(set->scopes[set->n_scopes - 1].scope, scope) == 0))
        return;
    if (LIST_ROOM(set->scopes, set->n_scopes, set->scopes_capacity))
        set->scopes[set->n_scopes++] = (struct scope_line){line, scope};
    else
        set->failed = true;
}

const char *literals_scope_of(const struct literal_set *set, uint32_t line)
{
    size_t low = 0, high = set->n_scopes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->scopes[middle].line <= line)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? set->scopes[low - 1].scope : "";
}

void literals_release(struct literal_set *set)
{
    free(set->items);
    free(set->calls);
    free(set->scopes);
    arena_release(&set->arena);
    *set = (struct literal_set){0};
}

/* Whether two values are equal: as numbers if both are, else as texts. */
static bool literal_equal(const struct literal *a, const struct literal *b)
{
    if (a->number.present && b->number.present)
        return a->number.value == b->number.value;
    return a->number.present == b->number.present && strcmp(a->value, b->value) == 0;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int by_key(const void *a, const void *b)
{
    const struct literal *x = a, *y = b;
    const int order = by_number(&x->key, &y->key);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int by_name(const void *a, const void *b)
{
    const struct literal *x = *(const struct literal *const *)a, *y = *(const struct literal *const *)b;
    const int order = by_number(&x->name_hash, &y->name_hash);
    return order ? order : (x > y) - (x < y);
}

/* A difference, before it is reported in the order of the lines. */
struct difference {
    const struct literal *before, *after;
};

static int by_line(const void *a, const void *b)
{
    const struct literal *x = ((const struct difference *)a)->after, *y = ((const struct difference *)b)->after;
    return (x->order > y->order) - (x->order < y->order);
}

struct comparing {
    const struct literal_set *from, *to;
    const struct literal **names; /* [from->n] the literals of `from` by name, to find settings that moved to another place */
    struct difference *found;
    size_t n;
};

/* The first of a set's literals, by key, that does not come before that key. */
static size_t first_of_key(const struct literal_set *set, uint64_t key)
{
    size_t low = 0, high = set->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (set->items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_key(const struct literal_set *set, uint64_t key)
{
    const size_t at = first_of_key(set, key);
    return at < set->n && set->items[at].key == key;
}

/* Handles a literal whose key the other side does not have. It is not new if the other side has the same value under that name
 * anywhere, and it moved if one setting of that name is gone from its place. */
static void take_new(struct comparing *c, const struct literal *after)
{
    const struct literal *moved = NULL;
    size_t n_moved = 0, low = 0, high = c->from->n;
    const bool setting =
        after->setting || (after->within && c->from->n_calls &&
                           bsearch(&after->within, c->from->calls, c->from->n_calls, sizeof *c->from->calls, by_number));
    if (!setting || strcmp(after->value, "none") == 0)
        return;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->names[middle]->name_hash < after->name_hash)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < c->from->n && i < low + SAME_NAME_MAX && c->names[i]->name_hash == after->name_hash; i++) {
        const struct literal *before = c->names[i];
        if (!before->setting && !after->within)
            continue;
        if (literal_equal(before, after))
            return;
        if (!has_key(c->to, before->key)) {
            moved = before;
            n_moved++;
        }
    }
    c->found[c->n++] = (struct difference){n_moved == 1 ? moved : NULL, after};
}

static void compare_group(struct comparing *c, const struct literal *from, size_t n_from, const struct literal *to, size_t n_to)
{
    for (; n_from && n_to && literal_equal(from, to); n_from--, n_to--)
        from++, to++;
    for (; n_from && n_to && literal_equal(&from[n_from - 1], &to[n_to - 1]); n_from--)
        n_to--;
    for (size_t i = 0; n_from == n_to && i < n_to; i++)
        if (!literal_equal(&from[i], &to[i]))
            c->found[c->n++] = (struct difference){&from[i], &to[i]};
}

static size_t end_of_key(const struct literal_set *set, size_t at)
{
    size_t end = at + 1;
    while (end < set->n && set->items[end].key == set->items[at].key)
        end++;
    return end;
}

bool literals_compare(struct literal_set *from, struct literal_set *to,
                      void (*found)(void *context, const struct literal *before, const struct literal *after), void *context)
{
    struct comparing c = {.from = from, .to = to};
    c.found = malloc((to->n + 1) * sizeof *c.found);
    c.names = malloc((from->n + 1) * sizeof *c.names);
    const bool ok = c.found && c.names && !from->failed && !to->failed;
    if (ok) {
        if (from->n)
            qsort(from->items, from->n, sizeof *from->items, by_key);
        if (to->n)
            qsort(to->items, to->n, sizeof *to->items, by_key);
        if (from->n_calls)
            qsort(from->calls, from->n_calls, sizeof *from->calls, by_number);
        for (size_t i = 0; i < from->n; i++)
            c.names[i] = &from->items[i];
        if (from->n)
            qsort(c.names, from->n, sizeof *c.names, by_name);
    }
    for (size_t at = 0, end; ok && at < to->n; at = end) {
        const size_t i = first_of_key(from, to->items[at].key);
        end = end_of_key(to, at);
        if (i < from->n && from->items[i].key == to->items[at].key)
            compare_group(&c, from->items + i, end_of_key(from, i) - i, to->items + at, end - at);
        else if (!from->truncated)
            take_new(&c, &to->items[at]);
    }
    if (ok && c.n)
        qsort(c.found, c.n, sizeof *c.found, by_line);
    for (size_t i = 0; ok && i < c.n; i++)
        found(context, c.found[i].before, c.found[i].after);
    free(c.found);
    free(c.names);
    return ok;
}
