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

static void add(struct literal_set *set, const struct literal_place *place, uint64_t key, const struct constant *value)
{
    if (set->n == LITERALS_MAX) {
        set->truncated = true;
        return;
    }
    if (!LIST_ROOM(set->items, set->n, set->capacity)) {
        set->failed = true;
        return;
    }
    const struct literal literal = {.key = key,
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

void literals_add(struct literal_set *set, const struct literal_place *place, const struct constant *value)
{
    if (place->name_length < LITERAL_NAME_MAX && literal_name_ok(place->name, place->name_length))
        add(set, place, literal_hash(place->context, place->name, place->name_length), value);
}

void literals_add_call(struct literal_set *set, uint64_t key)
{
    static const struct constant none = {.text = ""};
    add(set, &(struct literal_place){.name = "", .scope = ""}, key, &none);
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

static int compare_numbers(uint64_t x, uint64_t y)
{
    return (x > y) - (x < y);
}

/* By name, then by place: equal keys have equal names. */
static int by_name(const void *a, const void *b)
{
    const struct literal *x = a, *y = b;
    const int name = compare_numbers(x->name_hash, y->name_hash), key = compare_numbers(x->key, y->key);
    return name ? name : key ? key : compare_numbers(x->order, y->order);
}

/* The first of a sorted set's literals that does not come before those with that name and key. */
static size_t first_of(const struct literal_set *set, uint64_t name_hash, uint64_t key)
{
    const struct literal wanted = {.name_hash = name_hash, .key = key};
    size_t low = 0, high = set->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (by_name(&set->items[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const struct literal_set *set, uint64_t name_hash, uint64_t key)
{
    const size_t at = first_of(set, name_hash, key);
    return at < set->n && set->items[at].key == key;
}

/* A difference, before it is reported in the order of the lines. */
struct difference {
    const struct literal *before, *after;
};

static int by_line(const void *a, const void *b)
{
    const struct difference *x = a, *y = b;
    return compare_numbers(x->after->order, y->after->order);
}

struct comparing {
    const struct literal_set *from, *to;
    struct difference *found;
    size_t n;
};

/* Handles a literal whose key the other side does not have. It is not new if the other side has the same value under that name
 * anywhere, and it moved if one setting of that name is gone from its place. */
static void take_new(struct comparing *c, const struct literal *after)
{
    const struct literal *moved = NULL;
    size_t n_moved = 0;
    if (strcmp(after->value, "none") == 0 ||
        (!after->setting && !(after->within && has(c->from, literal_hash(0, "", 0), after->within))))
        return;
    const size_t first = first_of(c->from, after->name_hash, 0);
    for (size_t i = first; i < c->from->n && i < first + SAME_NAME_MAX && c->from->items[i].name_hash == after->name_hash; i++) {
        const struct literal *before = &c->from->items[i];
        if (!before->setting && !after->within)
            continue;
        if (literal_equal(before, after))
            return;
        if (!has(c->to, before->name_hash, before->key)) {
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
    struct comparing c = {.from = from, .to = to, .found = malloc((to->n + 1) * sizeof *c.found)};
    const bool ok = c.found && !from->failed && !to->failed;
    if (from->n)
        qsort(from->items, from->n, sizeof *from->items, by_name);
    if (to->n)
        qsort(to->items, to->n, sizeof *to->items, by_name);
    for (size_t at = 0, end; ok && at < to->n; at = end) {
        const struct literal *after = &to->items[at];
        const size_t i = first_of(from, after->name_hash, after->key);
        end = end_of_key(to, at);
        if (i < from->n && from->items[i].key == after->key)
            compare_group(&c, from->items + i, end_of_key(from, i) - i, after, end - at);
        else if (!from->truncated && *after->name)
            take_new(&c, after);
    }
    if (ok && c.n)
        qsort(c.found, c.n, sizeof *c.found, by_line);
    for (size_t i = 0; ok && i < c.n; i++)
        found(context, c.found[i].before, c.found[i].after);
    free(c.found);
    return ok;
}
