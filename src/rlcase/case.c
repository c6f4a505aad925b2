/*
 * case.c: run a kernel by name on a case; see rlcase/case.h.
 *
 * This file checks that the input is JSON and names a kernel, and turns every error into a status
 * with a text. The adapters case_*.c know one kernel each.
 */
#include <rlcase/case.h>
#include <rlcore/algorithm.h>

#include <stdarg.h>

#include "case_call.h"

/* ---- the lists of kernels in both precisions, and the search by family.
 *
 * case_kernels.def is included once for each list, so that a kernel is added in one line.
 */

static const struct case_kernel kernels_double[] = {
#define CASE_REAL(family, name, ...) CASE_DOUBLE(family, name, __VA_ARGS__)
#define CASE_DOUBLE(family, name, layouts, summary, inputs, outputs) {#family, summary, inputs, outputs, layouts, case_##name},
#include "case_kernels.def"
#undef CASE_REAL
#undef CASE_DOUBLE
};

static const struct case_kernel kernels_single[] = {
#define CASE_REAL(family, name, layouts, summary, inputs, outputs) {#family, summary, inputs, outputs, layouts, case_##name##f},
#define CASE_DOUBLE(...)
#include "case_kernels.def"
#undef CASE_REAL
#undef CASE_DOUBLE
};

enum { N_DOUBLE = sizeof kernels_double / sizeof *kernels_double, N_SINGLE = sizeof kernels_single / sizeof *kernels_single };

/* The search is linear: there are about forty kernels, and a process runs one. */
const struct case_kernel *case_find(const char *family, bool single)
{
    const struct case_kernel *kernel = single ? kernels_single : kernels_double;
    const struct case_kernel *end = kernel + (single ? N_SINGLE : N_DOUBLE);
    while (kernel < end && strcmp(kernel->family, family) != 0)
        kernel++;
    return kernel < end ? kernel : NULL;
}

/* ---- translates the names in the core's error messages into the names of the case.
 *
 * The core names its own arguments ("turn id[0][3]"). A caller of rlcase passed the array under
 * another name and searches its own code for that name ("inputs.turn_id[0][3]").
 */

/*
 * If the error text begins with a name of the core and the case has that input, replace the name by
 * the input's name.
 */
static void case_name_error(struct case_call *call)
{
    /* Kernels name their mask response_mask or loss_mask; the case has one of the two. */
    static const char *const names[][2] = {
        {"response mask", "response_mask"}, {"response mask", "loss_mask"}, {"turn id", "turn_id"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[RL_ERROR_TEXT_MAX];
        size_t n = strlen(names[i][0]);
        memcpy(text, call->err.text, sizeof text);
        if (strncmp(text, names[i][0], n) == 0 && text[n] == '[' && case_array(call, names[i][1]))
            snprintf(call->err.text, sizeof call->err.text, "inputs.%s%.*s", names[i][1],
                     (int)(sizeof text - sizeof "inputs.response_mask"), text + n);
    }
}

/* ---- a description of the kernels, their inputs and results. It joins the lists of names that kernels have with the
 * descriptions of case_inputs.def.
 *
 * The meaning of a name is written once; otherwise forty kernels would explain log_prob in forty
 * ways. A test that describes all kernels finds a kernel with an input that is not in the table.
 */

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

static const struct input *find_input(const char *name)
{
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strcmp(inputs[i].name, name) == 0)
            return &inputs[i];
    return NULL;
}

/* Names that a case may have for its reader. */
static bool is_comment(const char *name)
{
    static const char *const words[] = {"comment", "note", "notes", "description"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], name) == 0)
            return true;
    return false;
}

/*
 * A misspelt name that was ignored would give the result of the default. Words for the reader are free. before, separator: printed
 * in front of the name in a message.
 */
static void check_name(struct case_call *call, const char *list, const char *before, const char *separator, const char *name)
{
    char nearest[64] = "";
    if (is_comment(name))
        return;
    for (struct entry entry; (list = next_entry(&entry, list));) {
        if (strcmp(entry.name, name) == 0)
            return;
        if (!*nearest || rl_name_distance(name, entry.name) < rl_name_distance(name, nearest))
            memcpy(nearest, entry.name, sizeof nearest);
    }
    case_fail(call, "inputs.%.60s%s%.60s: unknown; the nearest known one is %s", before, separator, name, nearest);
}

/* Refuse inputs, also arrays, whose names are not in the kernel's list. */
static void case_check_names(struct case_call *call, const struct case_kernel *kernel)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)call->inputs, name, value)
        check_name(call, kernel->inputs, "", "", name);
    for (size_t i = 0; i < call->n_arrays; i++)
        check_name(call, kernel->inputs, "", "", call->arrays[i].name);
}

/* Whether value is one of the words of "{a|b}", the values of a kernel's first input that read an input; a text without braces: all. */
static bool is_one_of(const char *words, const char *value)
{
    if (*words != '{')
        return true;
    for (size_t n; *words && *words != '}'; words += n) {
        n = strcspn(++words, "|}");
        if (strlen(value) == n && memcmp(words, value, n) == 0)
            return true;
    }
    return false;
}

/*
 * What an estimator or a loss does not read was perhaps meant for another one. A default, null and false ask for nothing. Sizes of
 * the whole batch count as read with every aggregation.
 */
static void warn_of_unread(struct case_call *call, const struct case_kernel *kernel)
{
    struct entry entry;
    next_entry(&entry, kernel->inputs);
    const char *first = json_string_value(json_object_get(call->inputs, entry.name));
    for (const char *list = kernel->inputs; (list = next_entry(&entry, list));) {
        const json_t *value = json_object_get(call->inputs, entry.name);
        const struct input *described = find_input(entry.name);
        const struct case_read *read = case_find_read(call, entry.name);
        bool off = json_is_null(value) || (json_is_false(value) && described && described->kind == KIND_BOOL);
        bool used = read && (read->is_default || (!read->unused && is_one_of(entry.own, first ? first : "")));
        bool given = value && !off;
        for (size_t i = 0; i < call->n_arrays && !given; i++)
            given = strcmp(call->arrays[i].name, entry.name) == 0;
        if (given && !used)
            case_warn(call, "inputs.%s has no effect: nothing reads it with these settings", entry.name);
    }
}

void case_check_members(struct case_call *call, const char *input, const char *where, const json_t *object)
{
    const struct input *described = find_input(input);
    const char *open = described ? strchr(described->shape, '{') : NULL, *name;
    char list[256];
    json_t *value;
    if (!json_is_object(object))
        case_fail(call, "inputs.%.60s is not an object", where);
    snprintf(list, sizeof list, "%.*s", open ? (int)strcspn(open + 1, "}") : 0, open ? open + 1 : "");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        check_name(call, list, where, ".", name);
}

/* Converts "(a|b)", "{a|b}" or "a|b" to the JSON list ["a", "b"]. */
static json_t *choices(const char *text)
{
    json_t *list = json_array();
    text += *text == '(' || *text == '{';
    while (*text && *text != ')' && *text != '}') {
        size_t n = strcspn(text, "|)}");
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
    const struct input *input = find_input(entry->name);
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
    return json_pack("{s:s, s:s, s:b, s:s, s:o, s:o, s:s}", "name", entry->name, "kind", kind, "optional", entry->optional,
                     "shape", shape, "choices", choices(options), "only", choices(entry->own[0] == '{' ? entry->own : ""), "text",
                     input->text);
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

/* The list that rl_case_describe returns; NULL if out of memory. */
static json_t *case_describe(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < N_DOUBLE; i++) {
        const struct case_kernel *kernel = &kernels_double[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:b, s:b, s:o, s:o}", "family", kernel->family, "summary", kernel->summary,
                                        "single", case_find(kernel->family, true) != NULL, "layouts", kernel->layouts, "inputs",
                                        describe_inputs(kernel->inputs), "outputs", describe_outputs(kernel->outputs)));
    }
    return list;
}

struct rl_case {
    struct case_call call;
    json_t *inputs;
    char *text;
};

static enum rl_status __attribute__((format(printf, 2, 3))) refuse(struct rl_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (err) {
        err->status = RL_EINVAL;
        vsnprintf(err->text, sizeof err->text, format, args);
    }
    va_end(args);
    return RL_EINVAL;
}

void rl_case_release(struct rl_case *done)
{
    if (!done)
        return;
    case_call_release(&done->call);
    json_decref(done->inputs);
    free(done->text);
    free(done);
}

/* 17 digits reproduce every double. */
static bool write_text(struct rl_case *done, const json_t *values)
{
    done->text = json_dumps(values, JSON_REAL_PRECISION(17) | JSON_COMPACT);
    return done->text != NULL;
}

/* A family without a single-precision form gets a different message than an unknown family. */
static const struct case_kernel *find(const char *family, bool single, struct rl_error *err)
{
    const struct case_kernel *kernel = case_find(family, single);
    if (!kernel && single && case_find(family, false))
        refuse(err, "kernel '%.60s' has no single-precision form", family);
    else if (!kernel)
        refuse(err, "no kernel '%.60s'", family);
    return kernel;
}

static enum rl_status run(struct rl_case *done, const struct case_kernel *kernel, struct rl_error *err)
{
    struct case_call *call = &done->call;
    case_check_names(call, kernel);
    if (!call->failed)
        kernel->run(call);
    if (!call->failed)
        warn_of_unread(call, kernel);
    if (!call->failed && !write_text(done, call->outputs))
        case_fail(call, "out of memory");
    if (!call->failed)
        return RL_OK;
    case_name_error(call);
    if (err)
        *err = call->err;
    return call->err.status;
}

static enum rl_status start(struct rl_case **done, const char *family, bool single, const char *values,
                            const struct rl_case_array *arrays, size_t n, bool keeps_arrays, struct rl_error *err)
{
    json_error_t error;
    if (!done)
        return refuse(err, "done is NULL");
    *done = NULL;
    if (!family || !values || (!arrays && n))
        return refuse(err, "%s is NULL", !family ? "family" : !values ? "values" : "arrays");
    const struct case_kernel *kernel = find(family, single, err);
    if (!kernel)
        return RL_EINVAL;
    struct rl_case *made = calloc(1, sizeof *made);
    if (!made)
        return refuse(err, "out of memory");
    /*
     * The arrays belong to the caller, and the case only points to them. The JSON is parsed into a
     * copy that lives as long as the case, because adapters borrow texts from it.
     */
    made->inputs = json_loads(values, JSON_REJECT_DUPLICATES, &error);
    case_call_init(&made->call, made->inputs);
    made->call.arrays = arrays;
    made->call.n_arrays = n;
    made->call.keeps_arrays = keeps_arrays;
    made->call.lays_out = kernel->layouts;
    case_find_stride(&made->call);
    made->call.n_read = 0; /* the layout looks at inputs that the kernel may not read */
    enum rl_status status = json_is_object(made->inputs) ? run(made, kernel, err)
                            : made->inputs               ? refuse(err, "values is not a JSON object")
                                                         : refuse(err, "values is not JSON: %.120s", error.text);
    if (status == RL_OK)
        *done = made;
    else
        rl_case_release(made);
    return status;
}

/*
 * Results are arrays for programs and JSON for people and files. With arrays a batch of megabytes
 * is not converted to text and back.
 */
enum rl_status rl_case_run(struct rl_case **done, const char *family, bool single, const char *values,
                           const struct rl_case_array *arrays, size_t n, struct rl_error *err)
{
    return start(done, family, single, values, arrays, n, true, err);
}

enum rl_status rl_case_run_json(struct rl_case **done, const char *family, bool single, const char *values, struct rl_error *err)
{
    return start(done, family, single, values, NULL, 0, false, err);
}

enum rl_status rl_case_describe(struct rl_case **done, struct rl_error *err)
{
    json_t *list = case_describe();
    struct rl_case *made = calloc(1, sizeof *made);
    *done = NULL;
    if (made && list && write_text(made, list))
        *done = made;
    else
        free(made);
    json_decref(list);
    return *done ? RL_OK : refuse(err, "out of memory");
}

const char *rl_case_values(const struct rl_case *done)
{
    return done->text;
}

const struct rl_case_array *rl_case_arrays(const struct rl_case *done, size_t *n)
{
    *n = done->call.n_results;
    return done->call.results;
}

/*
 * Callers that declare the struct themselves (Python's ctypes) compare this size, so that a wrong
 * layout is noticed before the struct is read.
 */
size_t rl_case_array_size(void)
{
    return sizeof(struct rl_case_array);
}
