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

#include "recipe/recipe_conditions.h"
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

/* Whether a member has the table's initial value. */
static bool is_initial(const struct recipe_field *field, const void *base)
{
    if (field->kind == RECIPE_TEXT)
        return strcmp((const char *)base + field->offset, field->text) == 0;
    return field->size == 0 || recipe_number(field, base) == field->initial;
}

/*
 * Returns the number of fields to leave out at i: an object and its members, or 0 if field i is not to be left out. Only the
 * root table has a MOVED_OBJECT, so base is a recipe there.
 */
static size_t left_out(const struct recipe_table *table, size_t i, const void *base)
{
    const struct recipe_field *object = &table->fields[i];
    size_t n = 1;
    if (object->kind != RECIPE_OBJECT || object->initial == 0)
        return 0;
    for (; i + n < table->n && recipe_is_in(&table->fields[i + n], object->path); n++)
        if (!is_initial(&table->fields[i + n], base) ||
            (object->initial > 1 && recipe_is_read(base, NULL, &table->fields[i + n])))
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

/*
 * A row never names a setting that nothing reads, because it would claim that the setting was on. The settings that
 * every row names stay in rows of trials that are not trained.
 */
static bool is_named(const struct trainer_recipe *recipe, const struct trainer_task *task, const struct recipe_field *field,
                     bool changed)
{
    const struct recipe_table *table = task ? &recipe_task : &recipe_root;
    bool read = recipe_is_read(recipe, task, field);
    switch (recipe_shown_when(table, field)) {
    case RECIPE_SHOWN_ALWAYS: return read || recipe_condition_is_lenient(field);
    case RECIPE_SHOWN_READ: return read;
    case RECIPE_SHOWN_CHANGED: return read && changed;
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

/* Where settings are visited: the root, or one environment. */
struct visited {
    const struct trainer_recipe *recipe;
    const struct trainer_task *task; /* NULL for the root */
    int32_t environment;             /* index of the task */
    trainer_setting_fn *visit;
    void *context;
};

/*
 * The first environment's settings have their plain names, because most recipes have one environment. Those of the
 * others begin with "env1.", "env2.", .., which --set accepts, too.
 */
static void visit_field(const struct visited *v, const struct recipe_field *field, const void *base, const void *initial)
{
    char path[128], longer_path[160], name[160];
    const char *plain = recipe_name(v->task ? &recipe_task : &recipe_root, field, path);
    const char *word = word_of(field, base);
    snprintf(name, sizeof name, "%s", plain);
    snprintf(longer_path, sizeof longer_path, "%s", path);
    if (v->environment > 0) {
        plain = strncmp(plain, "env.", 4) == 0 ? plain + 4 : plain;
        snprintf(name, sizeof name, "env%d.%s", v->environment, plain);
        snprintf(longer_path, sizeof longer_path, "environments[%d].%s", v->environment, field->path);
    }
    const struct trainer_setting setting = {name, longer_path, word ? NAN : recipe_number(field, base), word,
                                            is_named(v->recipe, v->task, field, !recipe_is_default(field, base, initial))};
    v->visit(v->context, &setting);
}

static void visit_table(const struct visited *v, const void *base, const void *initial)
{
    const struct recipe_table *table = v->task ? &recipe_task : &recipe_root;
    for (size_t i = 0; i < table->n; i++)
        if (table->fields[i].kind != RECIPE_OBJECT && table->fields[i].kind != RECIPE_TASKS)
            visit_field(v, &table->fields[i], base, initial);
}

/*
 * Settings are compared with the defaults of the environment's own algorithm, because otherwise every setting in which
 * algorithms differ would count as changed.
 */
void trainer_recipe_settings(const struct trainer_recipe *recipe, trainer_setting_fn *visit, void *context)
{
    struct trainer_recipe initial;
    recipe_defaults(&initial, recipe);
    const struct visited root = {recipe, NULL, 0, visit, context};
    visit_table(&root, recipe, &initial);
    for (int32_t i = recipe->n_tasks - 1; i >= 0; i--) {
        const struct visited task = {recipe, &recipe->tasks[i], i, visit, context};
        visit_table(&task, &recipe->tasks[i], &initial.tasks[i]);
    }
}
