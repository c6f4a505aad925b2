/*
 * recipe_schema.c: prints the table of fields as a JSON Schema, with one definition per object. A test compares it with
 * the published file, so that editors complete what the parser accepts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/recipe_schema.h"

#include "recipe/recipe_names.h"
#include "recipe/recipe_value.h"

/* Limits of length are in bytes, which a schema cannot express; the parser refuses texts that are too long in UTF-8. */
#define ONE_LINE "^[^\\\\u0000-\\\\u001f\\\\u007f]*$"

/*
 * The top level uses unevaluatedProperties and not additionalProperties, because a sweep's schema refers to this
 * definition and adds its own keys, which additionalProperties would refuse.
 */
static const char head[] = "{\n"
                           "  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                           "  \"title\": \"A recipe: everything that makes one training run. Every key "
                           "has a default.\",\n"
                           "  \"$ref\": \"#/$defs/recipe\",\n"
                           "  \"unevaluatedProperties\": false,\n"
                           "  \"$defs\": {";

/* An infinite bound is left out, because JSON cannot express it and it restricts nothing. */
static void print_bound(FILE *out, const char *name, const char *open_name, const struct recipe_bound *bound)
{
    char text[32];
    recipe_number_text(text, bound->value);
    if (!isinf(bound->value))
        fprintf(out, ", \"%s\": %s", bound->open ? open_name : name, text);
}

static void print_choices(FILE *out, const struct recipe_field *field)
{
    const char *name, *comma = "";
    fputs("\"enum\": [", out);
    for (size_t i = 0; (name = recipe_choice(field, i)); i++) {
        fprintf(out, "%s\"%s\"", comma, name);
        comma = ", ";
    }
    fputs("]", out);
}

/* Choices are printed as an enum, so that an editor offers them. */
static void print_type(FILE *out, const struct recipe_field *field)
{
    switch (field->kind) {
    case RECIPE_BOOL: fputs("\"type\": \"boolean\"", out); break;
    case RECIPE_CHOICE:
    case RECIPE_ALGORITHM: print_choices(out, field); break;
    case RECIPE_TEXT:
        fprintf(out, "\"type\": \"string\", \"maxLength\": %zu, \"pattern\": \"" ONE_LINE "\"", field->size - 1);
        break;
    default:
        fprintf(out, "\"type\": \"%s\"", field->kind == RECIPE_REAL ? "number" : "integer");
        print_bound(out, "minimum", "exclusiveMinimum", &field->low);
        print_bound(out, "maximum", "exclusiveMaximum", &field->high);
    }
}

/* Prints " Read by turn-group-v1d, adca (default 1)." for a setting that the core's table knows. */
static void print_readers(FILE *out, const char *setting)
{
    const char *comma = " Read by ";
    if (isnan(rl_algorithm_default(NULL, setting)))
        return;
    for (size_t i = 0; i < RL_N_ALGORITHMS; i++) {
        const struct rl_algorithm *row = rl_algorithm_at(i);
        double own = rl_algorithm_default(row, setting);
        if (!rl_algorithm_reads(row, setting))
            continue;
        fprintf(out, "%s%s", comma, row->name);
        if (own != rl_algorithm_default(NULL, setting))
            fprintf(out, " (default %g)", own);
        comma = ", ";
    }
    fputs(".", out);
}

/*
 * The description: what the setting is, which algorithms read it, and its name if that is not the key. For example,
 * grpo accepts alpha but does not read it; with this text an editor can show that before the night.
 */
static char *describe(const struct recipe_table *table, const struct recipe_field *field)
{
    char *text = NULL;
    size_t length;
    const char *name = recipe_short_name(table, field), *alias = recipe_alias(field);
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fputs(field->help, out);
    if (strncmp(field->path, "algorithm.", 10) == 0)
        print_readers(out, recipe_key(field));
    if (name && strcmp(name, field->path) != 0)
        fprintf(out, " In rows, --set and grids: %s.", name);
    if (alias)
        fprintf(out, " Also read as %s.", alias);
    return recipe_text_end(out, &text);
}

/* The indentation is that of the published file, which people read and which the test compares byte for byte. */
static void print_property(FILE *out, const struct recipe_table *table, const struct recipe_field *field, const void *initial)
{
    char *text = describe(table, field);
    fprintf(out, "\"%s\": {\n          \"description\": ", recipe_key(field));
    recipe_string_print(out, text ? text : field->help);
    free(text);
    fputs(",\n          ", out);
    if (field->kind == RECIPE_OBJECT) {
        fprintf(out, "\"$ref\": \"#/$defs/%s\"", recipe_key(field));
    } else if (field->kind == RECIPE_TASKS) {
        fprintf(out, "\"type\": \"array\", \"minItems\": %g, \"maxItems\": %g, \"default\": [{}],\n", field->low.value,
                field->high.value);
        fputs("          \"items\": {\"$ref\": \"#/$defs/environment\"}", out);
    } else {
        print_type(out, field);
        fputs(", \"default\": ", out);
        recipe_value_print(out, field, initial);
    }
    fputs("\n        }", out);
}

/* Prints another key for a property that is described in its own object. */
static void print_reference(FILE *out, const char *key, const struct recipe_table *table, const struct recipe_field *field)
{
    char object[64] = "recipe";
    const char *dot = strrchr(field->path, '.');
    if (table == &recipe_task)
        strcpy(object, "environment");
    if (dot) {
        size_t length = (size_t)(dot - field->path);
        const char *start = field->path + length;
        while (start > field->path && start[-1] != '.')
            start--;
        snprintf(object, sizeof object, "%.*s", (int)(dot - start), start);
    }
    /* the algorithm of environments without one is a word or an object */
    bool inherited = strcmp(key, "algorithm") == 0;
    fprintf(out, ",\n        \"%s\": {%s\"$ref\": \"#/$defs/%s/properties/%s\"}%s", key, inherited ? "\"anyOf\": [{" : "", object,
            recipe_key(field), inherited ? ", {\"$ref\": \"#/$defs/algorithm\"}]}" : "");
}

/* At the top of a recipe every setting can also be given by its name. */
static void print_names(FILE *out)
{
    const struct recipe_table *const tables[] = {&recipe_root, &recipe_task};
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < tables[t]->n; i++) {
            const struct recipe_field *field = &tables[t]->fields[i];
            const char *name = recipe_short_name(tables[t], field), *alias = recipe_alias(field);
            if (!name || (tables[t] == &recipe_root && strcmp(name, field->path) == 0))
                continue;
            print_reference(out, name, tables[t], field);
            if (alias)
                print_reference(out, alias, tables[t], field);
        }
}

/*
 * Prints the direct members of the object `parent` of a table. Nested objects refuse unknown keys, as the parser does.
 */
static void print_definition(FILE *out, const struct recipe_table *table, const char *parent, const char *name,
                             const void *initial)
{
    const char *comma = "";
    bool open = table == &recipe_root && !parent[0]; /* at the top level a sweep adds its keys */
    fprintf(out, "\n    \"%s\": {\n      \"type\": \"object\",\n%s      \"properties\": {", name,
            open ? "" : "      \"additionalProperties\": false,\n");
    for (size_t i = 0; i < table->n; i++) {
        if (!recipe_is_in(&table->fields[i], parent))
            continue;
        fprintf(out, "%s\n        ", comma);
        print_property(out, table, &table->fields[i], initial);
        if (recipe_alias(&table->fields[i]))
            print_reference(out, recipe_alias(&table->fields[i]), table, &table->fields[i]);
        comma = ",";
    }
    if (open)
        print_names(out);
    fputs("\n      }\n    }", out);
}

static void print_definitions(FILE *out, const struct recipe_table *table, const char *name, const void *initial)
{
    print_definition(out, table, "", name, initial);
    for (size_t i = 0; i < table->n; i++)
        if (table->fields[i].kind == RECIPE_OBJECT) {
            fputs(",", out);
            print_definition(out, table, table->fields[i].path, recipe_key(&table->fields[i]), initial);
        }
}

/*
 * Defaults come from an initialised recipe and not from the table, because the core defines the defaults of an
 * algorithm.
 */
char *recipe_schema(void)
{
    struct trainer_recipe initial;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    trainer_recipe_init(&initial);
    fputs(head, out);
    print_definitions(out, &recipe_root, "recipe", &initial);
    fputs(",", out);
    print_definitions(out, &recipe_task, "environment", &initial.tasks[0]);
    fputs("\n  }\n}\n", out);
    return recipe_text_end(out, &text);
}
