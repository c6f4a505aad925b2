/*
 * recipe_text.c: prints a recipe as JSON text, and visits its settings one by one. Every key is written, defaults too,
 * because a recipe stored with a checkpoint must keep its meaning when a later version has other defaults. Objects that
 * were added later are left out while all of their settings are at their defaults.
 *
 * The text is written by hand and not by a JSON library because it is an identity: keys of trials are digests of
 * it, and another version of a library may indent or print numbers differently. Changing a byte of it makes every
 * trial of every sweep look new.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/recipe_names.h"
#include "recipe/recipe_value.h"

/* Prints nested objects from a table of dotted paths. */
struct printer {
    FILE *out;
    size_t indent; /* indentation of the outermost keys, in levels of two blanks */
    size_t depth;  /* number of open objects */
    bool first;    /* true while the innermost object is still empty */
};

static void new_line(const struct printer *p)
{
    fprintf(p->out, "\n%*s", (int)(2 * (p->indent + p->depth)), "");
}

/*
 * Closes objects until `depth` objects are open. The nesting follows from the order of the table and is not stored
 * anywhere else.
 */
static void close_to(struct printer *p, size_t depth)
{
    while (p->depth > depth) {
        p->depth--;
        p->first = false;
        new_line(p);
        fputs("}", p->out);
    }
}

static void print_key(struct printer *p, const struct recipe_field *field)
{
    size_t depth = recipe_depth(field);
    close_to(p, depth);
    fputs(p->first ? "" : ",", p->out);
    new_line(p);
    fprintf(p->out, "\"%s\": ", recipe_key(field));
    p->first = false;
}

static void open_object(struct printer *p)
{
    fputs("{", p->out);
    p->depth++;
    p->first = true;
}

static void print_tasks(FILE *out, const struct trainer_recipe *recipe);

/* Whether a member has its default value. */
static bool is_default(const struct recipe_field *field, const void *base)
{
    if (field->kind == RECIPE_TEXT)
        return strcmp((const char *)base + field->offset, field->text) == 0;
    return field->size == 0 || recipe_number(field, base) == field->initial;
}

/* Returns the number of fields to leave out at i: an object and its members, or 0 if field i is not to be left out. */
static size_t left_out(const struct recipe_table *table, size_t i, const void *base)
{
    const struct recipe_field *object = &table->fields[i];
    size_t n = 1;
    if (object->kind != RECIPE_OBJECT || object->initial == 0)
        return 0;
    for (; i + n < table->n && recipe_is_in(&table->fields[i + n], object->path); n++)
        if (!is_default(&table->fields[i + n], base))
            return 0;
    return n;
}

static void print_table(struct printer *p, const struct recipe_table *table, const void *base)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct recipe_field *field = &table->fields[i];
        size_t skipped = left_out(table, i, base);
        if (skipped > 0) {
            i += skipped - 1;
            continue;
        }
        print_key(p, field);
        if (field->kind == RECIPE_OBJECT)
            open_object(p);
        else if (field->kind == RECIPE_TASKS)
            print_tasks(p->out, base);
        else
            recipe_value_print(p->out, field, base);
    }
    close_to(p, 0);
}

static void print_tasks(FILE *out, const struct trainer_recipe *recipe)
{
    fputs("[", out);
    for (int32_t i = 0; i < recipe->n_tasks; i++) {
        struct printer p = {.out = out, .indent = 3, .first = true};
        fputs(i > 0 ? ",\n    {" : "\n    {", out);
        print_table(&p, &recipe_task, &recipe->tasks[i]);
        fputs("\n    }", out);
    }
    fputs("\n  ]", out);
}

/*
 * The result of fclose is checked, because a memory stream reports an error then at the latest, and a truncated text
 * would be the identity of another recipe.
 */
char *recipe_text_end(FILE *out, char **text)
{
    bool failed = ferror(out);
    if (fclose(out) == 0 && !failed)
        return *text;
    free(*text);
    return NULL;
}

char *trainer_recipe_text(const struct trainer_recipe *recipe)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    struct printer p = {.out = out, .indent = 1, .first = true};
    fputs("{", out);
    print_table(&p, &recipe_root, recipe);
    fputs("\n}\n", out);
    return recipe_text_end(out, &text);
}

static bool is_named(const struct recipe_table *table, const struct recipe_field *field,
                     bool changed, const struct rl_algorithm *algorithm)
{
    bool read = table == &recipe_task && rl_algorithm_reads(algorithm, recipe_key(field));
    switch (recipe_shown_when(table, field)) {
    case RECIPE_SHOWN_CHANGED: return changed;
    case RECIPE_SHOWN_ALWAYS: return true;
    case RECIPE_SHOWN_READ: return read;
    case RECIPE_SHOWN_READ_CHANGED: return read && changed;
    case RECIPE_SHOWN_NEVER: break;
    }
    return false;
}

/* NULL for a number. */
static const char *word_of(const struct recipe_field *field, const void *base)
{
    if (recipe_is_choice(field))
        return recipe_choice(field, (size_t)recipe_number(field, base));
    return field->kind == RECIPE_TEXT ? (const char *)base + field->offset : NULL;
}

static void visit_table(const struct recipe_table *table, const void *base, const void *initial,
                        const struct rl_algorithm *algorithm, trainer_setting_fn *visit,
                        void *context)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct recipe_field *field = &table->fields[i];
        char path[128];
        if (field->kind == RECIPE_OBJECT || field->kind == RECIPE_TASKS)
            continue;
        struct trainer_setting setting = {recipe_name(table, field, path), path, NAN,
                                          word_of(field, base), false};
        bool changed;
        if (setting.text) {
            changed = strcmp(setting.text, word_of(field, initial)) != 0;
        } else {
            /*
             * Values are compared exactly, because defaults are copied and not computed: a typed 0.1 equals the table's
             * 0.1.
             */
            setting.value = recipe_number(field, base);
            changed = setting.value != recipe_number(field, initial);
        }
        setting.named = is_named(table, field, changed, algorithm);
        visit(context, &setting);
    }
}

/*
 * A row has one alpha, so settings are those of the first environment. They are compared with the defaults of the
 * recipe's own algorithm, because otherwise every setting in which algorithms differ would count as changed.
 */
void trainer_recipe_settings(const struct trainer_recipe *recipe, trainer_setting_fn *visit,
                             void *context)
{
    const struct trainer_task *task = &recipe->tasks[0];
    const struct rl_algorithm *algorithm = rl_algorithm_at(task->algorithm.name);
    struct trainer_recipe initial;
    trainer_recipe_init(&initial);
    trainer_algorithm_init(&initial.tasks[0].algorithm, task->algorithm.name);
    visit_table(&recipe_root, recipe, &initial, algorithm, visit, context);
    visit_table(&recipe_task, task, &initial.tasks[0], algorithm, visit, context);
}
