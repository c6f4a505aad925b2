/*
 * case_describe.c: joins the lists of names that kernels have with the descriptions of
 * case_inputs.def.
 *
 * The meaning of a name is written once; otherwise forty kernels would explain log_prob in forty
 * ways. A test that describes all kernels finds a kernel with an input that is not in the table.
 */
#include "case_describe.h"

#include <rlcore/algorithm.h>
#include <string.h>

/* clang-format off */
#define CASE_KINDS(X)                                                                                        \
    X(REALS, "reals") X(NUMBERS, "numbers") X(INTEGERS, "integers") X(MASK, "mask") X(IDS, "ids")            \
    X(RAGGED, "ragged") X(ROUTES, "routes") X(NUMBER, "number") X(INTEGER, "integer") X(BOOL, "bool")        \
    X(TEXT, "text") X(CHOICE, "choice") X(STRUCTURED, "structured")
/* clang-format on */

enum kind {
#define KIND(name, text) KIND_##name,
    CASE_KINDS(KIND)
#undef KIND
};

static const char *const kinds[] = {
#define KIND(name, text) text,
    CASE_KINDS(KIND)
#undef KIND
};

static const struct input {
    const char *name;
    enum kind kind;
    const char *shape; /* the shape, or the choices */
    const char *text;
} inputs[] = {
#define CASE_INPUT(name, kind, shape, text) {#name, KIND_##kind, shape, text},
#include "case_inputs.def"
#undef CASE_INPUT
};

/* One entry of a kernel's list, parsed. */
struct entry {
    char name[64], own[256]; /* own: the text after the name */
    bool optional;
};

/*
 * Parse the next entry of a list; returns NULL after the last one. Commas inside brackets belong to
 * the entry.
 */
static const char *next_entry(struct entry *entry, const char *list)
{
    size_t depth = 0, n = 0;
    if (!*list)
        return NULL;
    for (; list[n] && (list[n] != ',' || depth); n++) {
        depth += list[n] == '(' || list[n] == '[';
        depth -= (list[n] == ')' || list[n] == ']') && depth > 0;
    }
    size_t name = strcspn(list, "?, ");
    name = name < n ? name : n;
    snprintf(entry->name, sizeof entry->name, "%.*s", (int)name, list);
    entry->optional = list[name] == '?';
    size_t own = name + entry->optional;
    own += own < n && list[own] == ' ';
    snprintf(entry->own, sizeof entry->own, "%.*s", (int)(n - own), list + own);
    return list + n + strspn(list + n, ", ");
}

static const struct input *find(const char *name)
{
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strcmp(inputs[i].name, name) == 0)
            return &inputs[i];
    return NULL;
}

/*
 * A misspelt name that was ignored would give the result of the default. Words for the reader are free. before, separator: printed
 * in front of the name in a message.
 */
static void check_name(struct case_call *call, const char *list, const char *before, const char *separator, const char *name)
{
    static const char *const words[] = {"comment", "note", "notes", "description"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return;
    char nearest[64] = "";
    for (struct entry entry; (list = next_entry(&entry, list));) {
        if (strcmp(entry.name, name) == 0)
            return;
        if (!*nearest || rl_name_distance(name, entry.name) < rl_name_distance(name, nearest))
            memcpy(nearest, entry.name, sizeof nearest);
    }
    case_fail(call, "inputs.%.60s%s%.60s: unknown; the nearest known one is %s", before, separator, name, nearest);
}

void case_check_names(struct case_call *call, const struct case_kernel *kernel)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)call->inputs, name, value)
        check_name(call, kernel->inputs, "", "", name);
    for (size_t i = 0; i < call->n_arrays; i++)
        check_name(call, kernel->inputs, "", "", call->arrays[i].name);
}

void case_check_members(struct case_call *call, const char *input, const char *where, const json_t *object)
{
    const struct input *described = find(input);
    const char *open = described ? strchr(described->shape, '{') : NULL, *name;
    char list[256];
    json_t *value;
    if (!json_is_object(object))
        case_fail(call, "inputs.%.60s is not an object", where);
    snprintf(list, sizeof list, "%.*s", open ? (int)strcspn(open + 1, "}") : 0, open ? open + 1 : "");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        check_name(call, list, where, ".", name);
}

/* Converts "(a|b)" or "a|b" to the JSON list ["a", "b"]. */
static json_t *choices(const char *text)
{
    json_t *list = json_array();
    text += *text == '(';
    while (*text && *text != ')') {
        size_t n = strcspn(text, "|)");
        json_array_append_new(list, json_stringn(text, n));
        text += n + (text[n] == '|');
    }
    return list;
}

/*
 * A kernel's own text has precedence over the table. "(ragged)", "(1)" and "(lists)" change the
 * kind: the same name may be padded in most kernels and ragged in one, or a list in some and a
 * single number in one.
 */
static json_t *describe_input(const struct entry *entry)
{
    const struct input *input = find(entry->name);
    if (!input)
        return json_pack("{s:s, s:s}", "name", entry->name, "kind", "unknown");
    const char *kind = kinds[input->kind], *shape = input->kind == KIND_CHOICE ? "" : input->shape;
    if (strcmp(entry->own, "(ragged)") == 0)
        kind = "ragged", shape = "[B]";
    else if (strcmp(entry->own, "(1)") == 0)
        kind = "integer", shape = "";
    else if (strcmp(entry->own, "(lists)") == 0)
        kind = "structured", shape = "[[number]]";
    else if (entry->own[0] == '[')
        shape = entry->own;
    const char *options = input->kind != KIND_CHOICE ? "" : entry->own[0] == '(' ? entry->own : input->shape;
    return json_pack("{s:s, s:s, s:b, s:s, s:o, s:s}", "name", entry->name, "kind", kind, "optional", entry->optional, "shape",
                     shape, "choices", choices(options), "text", input->text);
}

static json_t *describe_inputs(const char *list)
{
    json_t *array = json_array();
    for (struct entry entry; (list = next_entry(&entry, list));)
        json_array_append_new(array, describe_input(&entry));
    return array;
}

static json_t *describe_outputs(const char *list)
{
    json_t *array = json_array();
    for (struct entry entry; (list = next_entry(&entry, list));)
        json_array_append_new(array, json_pack("{s:s, s:s}", "name", entry.name, "shape", entry.own));
    return array;
}

json_t *case_describe(void)
{
    json_t *list = json_array();
    for (size_t i = 0; case_kernels_double[i]; i++) {
        const struct case_kernel *kernel = case_kernels_double[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:b, s:b, s:o, s:o}", "family", kernel->family, "summary", kernel->summary,
                                        "single", case_find(kernel->family, true) != NULL, "layouts", kernel->layouts, "inputs",
                                        describe_inputs(kernel->inputs), "outputs", describe_outputs(kernel->outputs)));
    }
    return list;
}
