/* recipe_schema.c: the table of fields as a JSON Schema, one definition per object. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe_value.h"

/* Lengths are in bytes, which a schema cannot say: the parser refuses what is too long in UTF-8. */
#define ONE_LINE "^[^\\\\u0000-\\\\u001f\\\\u007f]*$"

static const char head[] =
    "{\n"
    "  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
    "  \"title\": \"A recipe: everything that makes one training run. Every key "
    "has a default.\",\n"
    "  \"$ref\": \"#/$defs/recipe\",\n"
    "  \"unevaluatedProperties\": false,\n"
    "  \"$defs\": {";

static void print_bound(FILE *out, const char *name, const char *open_name,
                        const struct recipe_bound *bound)
{
    char text[32];
    recipe_number_text(text, bound->value);
    if (!isinf(bound->value))
        fprintf(out, ", \"%s\": %s", bound->open ? open_name : name, text);
}

static void print_choices(FILE *out, const struct recipe_field *field)
{
    fputs("\"enum\": [", out);
    for (size_t i = 0; field->choices[i]; i++)
        fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", field->choices[i]);
    fputs("]", out);
}

static void print_type(FILE *out, const struct recipe_field *field)
{
    switch (field->kind) {
    case RECIPE_BOOL: fputs("\"type\": \"boolean\"", out); break;
    case RECIPE_CHOICE: print_choices(out, field); break;
    case RECIPE_TEXT:
        fprintf(out, "\"type\": \"string\", \"maxLength\": %zu, \"pattern\": \"" ONE_LINE "\"",
                field->size - 1);
        break;
    default:
        fprintf(out, "\"type\": \"%s\"", field->kind == RECIPE_REAL ? "number" : "integer");
        print_bound(out, "minimum", "exclusiveMinimum", &field->low);
        print_bound(out, "maximum", "exclusiveMaximum", &field->high);
    }
}

static void print_property(FILE *out, const struct recipe_field *field, const void *initial)
{
    fprintf(out, "\"%s\": {\n          \"description\": ", recipe_key(field));
    recipe_string_print(out, field->help);
    fputs(",\n          ", out);
    if (field->kind == RECIPE_OBJECT) {
        fprintf(out, "\"$ref\": \"#/$defs/%s\"", recipe_key(field));
    } else if (field->kind == RECIPE_TASKS) {
        fprintf(out,
                "\"type\": \"array\", \"minItems\": %g, \"maxItems\": %g, \"default\": [{}],\n",
                field->low.value, field->high.value);
        fputs("          \"items\": {\"$ref\": \"#/$defs/environment\"}", out);
    } else {
        print_type(out, field);
        fputs(", \"default\": ", out);
        recipe_value_print(out, field, initial);
    }
    fputs("\n        }", out);
}

/* The direct members of the object `parent` of a table. */
static void print_definition(FILE *out, const struct recipe_table *table, const char *parent,
                             const char *name, const void *initial)
{
    const char *comma = "";
    bool open = table == &recipe_root && !parent[0]; /* a sweep adds keys of its own */
    fprintf(out, "\n    \"%s\": {\n      \"type\": \"object\",\n%s      \"properties\": {", name,
            open ? "" : "      \"additionalProperties\": false,\n");
    for (size_t i = 0; i < table->n; i++) {
        if (!recipe_is_in(&table->fields[i], parent))
            continue;
        fprintf(out, "%s\n        ", comma);
        print_property(out, &table->fields[i], initial);
        comma = ",";
    }
    fputs("\n      }\n    }", out);
}

static void print_definitions(FILE *out, const struct recipe_table *table, const char *name,
                              const void *initial)
{
    print_definition(out, table, "", name, initial);
    for (size_t i = 0; i < table->n; i++)
        if (table->fields[i].kind == RECIPE_OBJECT) {
            fputs(",", out);
            print_definition(out, table, table->fields[i].path, recipe_key(&table->fields[i]),
                             initial);
        }
}

char *trainer_recipe_schema(void)
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
