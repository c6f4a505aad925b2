/* recipe_text.c: a recipe as JSON text, and its numbers one by one. */
#include <stdlib.h>

#include "recipe_value.h"

/* Nested objects out of a table of dotted paths. */
struct printer {
    FILE *out;
    size_t indent; /* of the outermost keys, in levels of two blanks */
    size_t depth;  /* objects open */
    bool first;    /* nothing stands in the innermost one yet */
};

static void new_line(const struct printer *p)
{
    fprintf(p->out, "\n%*s", (int)(2 * (p->indent + p->depth)), "");
}

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

static void print_table(struct printer *p, const struct recipe_table *table, const void *base)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct recipe_field *field = &table->fields[i];
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

static void visit_table(const struct recipe_table *table, const void *base,
                        trainer_setting_fn *visit, void *context)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct recipe_field *field = &table->fields[i];
        char path[128];
        if (!recipe_is_number(field) && field->kind != RECIPE_BOOL)
            continue;
        bool env = table == &recipe_task && recipe_depth(field) == 0;
        snprintf(path, sizeof path, "%s%s", env ? "env." : "", field->path);
        visit(context, path, recipe_number(field, base));
    }
}

void trainer_recipe_settings(const struct trainer_recipe *recipe, trainer_setting_fn *visit,
                             void *context)
{
    visit_table(&recipe_root, recipe, visit, context);
    visit_table(&recipe_task, &recipe->tasks[0], visit, context);
}
