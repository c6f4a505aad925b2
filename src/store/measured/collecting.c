/* collecting.c: the answer of a measurement. */
#include "collecting.h"
#include "literals.h"

/* A file of results changes with every run. It is recognised by numbers that nobody writes by hand. */
enum { WRITTEN_DIGITS = 7, CODE_MAX = 4096 };

static const char *copy(struct collecting *c, const char *text)
{
    const char *out = text ? arena_text(&c->arena, text, strlen(text)) : NULL;
    c->failed = c->failed || (text && !out);
    return out;
}

void collect_code(struct collecting *c, const char *file, const char *heading, size_t added, size_t removed,
                  enum lineage_lines_kind kind)
{
    if (c->n_code == CODE_MAX) {
        c->incomplete = true;
        return;
    }
    if (!LIST_ROOM(c->code, c->n_code, c->code_capacity)) {
        c->failed = true;
        return;
    }
    bool same_file = c->n_code && strcmp(c->code[c->n_code - 1].file, file) == 0;
    c->code[c->n_code] = (struct lineage_measured_lines){.file = same_file ? c->code[c->n_code - 1].file : copy(c, file),
                                                         .heading = copy(c, heading),
                                                         .added = added,
                                                         .removed = removed,
                                                         .kind = kind};
    c->n_code += !c->failed; /* an entry without its texts does not count */
}

/* Digits from the first that is not 0, of a number with a fraction. */
static size_t digits_of(const char *text)
{
    size_t n = 0;
    bool point = false;
    for (; *text && (*text | 0x20) != 'e'; text++) {
        point = point || *text == '.';
        n += *text >= '0' && *text <= '9' && (n || *text != '0');
    }
    return point ? n : 0;
}

/* The changes of one file. */
struct differences {
    struct collecting *c;
    const char *path;
    bool measured_value;
};

static void take(void *context, const struct literal *before, const struct literal *after)
{
    struct differences *d = context;
    struct collecting *c = d->c;
    if (before && digits_of(before->value) >= WRITTEN_DIGITS && digits_of(after->value) >= WRITTEN_DIGITS)
        d->measured_value = true;
    if (c->n_changes == LINEAGE_MEASURED_CHANGES) {
        c->incomplete = true;
        return;
    }
    if (!LIST_ROOM(c->changes, c->n_changes, c->changes_capacity)) {
        c->failed = true;
        return;
    }
    c->changes[c->n_changes] =
        (struct lineage_measured_change){.file = d->path,
                                         .scope = copy(c, after->scope),
                                         .name = copy(c, after->name),
                                         .from = copy(c, before ? before->value : NULL),
                                         .to = copy(c, after->value),
                                         .from_value = before ? before->number : (struct lineage_number){0},
                                         .to_value = after->number,
                                         .line = after->line};
    c->n_changes += !c->failed;
}

void collect_literals(struct collecting *c, const char *path, struct literal_set *from, struct literal_set *to)
{
    const size_t first = c->n_changes;
    const bool incomplete = c->incomplete;
    struct differences d = {.c = c, .path = copy(c, path)};
    c->failed = !literals_compare(from, to, take, &d) || c->failed;
    if (d.measured_value && is_configuration(language_of(path, "", 0))) {
        c->n_changes = first;
        c->incomplete = incomplete;
    }
    c->incomplete = c->incomplete || from->truncated || to->truncated;
}

enum lineage_status collect_finish(struct collecting *c, struct lineage_measured *measured, struct lineage_error *err)
{
    struct arena *arena = c->failed ? NULL : malloc(sizeof *arena);
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    measured->changes = arena ? arena_alloc(&c->arena, c->n_changes + 1, sizeof *measured->changes) : NULL;
    measured->lines = arena ? arena_alloc(&c->arena, c->n_code + 1, sizeof *measured->lines) : NULL;
    bool ok = measured->changes && measured->lines;
    if (ok) {
        if (c->n_changes)
            memcpy(measured->changes, c->changes, c->n_changes * sizeof *measured->changes);
        if (c->n_code)
            memcpy(measured->lines, c->code, c->n_code * sizeof *measured->lines);
        measured->n_changes = c->n_changes;
        measured->n_lines = c->n_code;
        measured->incomplete = c->incomplete;
        *arena = c->arena;
        measured->memory = arena;
    } else {
        *measured = (struct lineage_measured){.against = "", .command_against = ""};
        arena_release(&c->arena);
        free(arena);
    }
    free(c->changes);
    free(c->code);
    *c = (struct collecting){0};
    return ok ? LINEAGE_OK : store_no_memory(err);
}

void lineage_measured_release(struct lineage_measured *measured)
{
    if (measured->memory)
        arena_release(measured->memory);
    free(measured->memory);
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
}

void collect_commands(struct collecting *c, const char *const *from, size_t n_from, const char *const *to, size_t n_to)
{
    struct literal_set before = {0}, after = {0};
    literals_read_command(&before, from, n_from);
    literals_read_command(&after, to, n_to);
    for (size_t i = 0; i < after.n; i++)
        after.items[i].line = 0;
    collect_literals(c, "", &before, &after);
    literals_release(&before);
    literals_release(&after);
}
