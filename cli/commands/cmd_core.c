/* cmd_core.c: `lineage core`: runs a kernel of the training core on a JSON case. */

#include "commands/append_request.h"
#include <rlcase/case.h>

struct core_options {
    int list, single, json;
};

/* Returns the description of all kernels as JSON. Prints a message and returns NULL when out of memory. */
static json_t *core_kernels(void)
{
    struct rl_case *done;
    struct rl_error err;
    json_t *list = NULL;
    if (rl_case_describe(&done, &err) == RL_OK)
        list = json_loads(rl_case_values(done), 0, NULL);
    if (!list)
        cli_error(CLI_SYSTEM, "core: out of memory");
    rl_case_release(done);
    return list;
}

static void print_words(const char *before, const json_t *words, const char *after)
{
    size_t n = json_array_size(words);
    for (size_t i = 0; i < n; i++)
        printf("%s%s", i ? "|" : before, json_string_value(json_array_get(words, i)));
    printf("%s", n ? after : "");
}

static void print_input(const json_t *input)
{
    const char *shape = cli_json_string(input, "shape");
    printf("    %s%s%s%s", cli_json_string(input, "name"), json_is_true(json_object_get(input, "optional")) ? "?" : "",
           *shape ? " " : "", shape);
    print_words(" (", json_object_get(input, "choices"), ")");
    print_words(" (only with ", json_object_get(input, "only"), ")");
    printf("  %s\n", cli_json_string(input, "text"));
}

static void print_kernel(const json_t *kernel)
{
    const json_t *input, *output;
    size_t i;
    printf("%s\n  %s%s\n  inputs:\n", cli_json_string(kernel, "family"), cli_json_string(kernel, "summary"),
           json_is_true(json_object_get(kernel, "single")) ? "" : " (double precision only)");
    json_array_foreach(json_object_get(kernel, "inputs"), i, input)
        print_input(input);
    printf("  results:");
    json_array_foreach(json_object_get(kernel, "outputs"), i, output)
        printf("%s %s%s%s", i ? "," : "", cli_json_string(output, "name"), *cli_json_string(output, "shape") ? " " : "",
               cli_json_string(output, "shape"));
    putchar('\n');
}

static int print_list(bool as_json)
{
    json_t *list = core_kernels(), *kernel;
    size_t i;
    if (!list)
        return CLI_SYSTEM;
    if (as_json)
        cli_json_print(stdout, list, true);
    else
        json_array_foreach(list, i, kernel)
            print_kernel(kernel);
    json_decref(list);
    return CLI_OK;
}

/* Returns false and suggests the nearest name if there is no such kernel. */
static bool is_known(const char *family)
{
    const char *names[256] = {0};
    json_t *list = core_kernels();
    bool known = false;
    for (size_t i = 0; i < json_array_size(list) && i < 255; i++) {
        names[i] = cli_json_string(json_array_get(list, i), "family");
        known |= strcmp(names[i], family) == 0;
    }
    const char *near = known || !list ? NULL : cli_nearest(family, names);
    if (!known && list)
        cli_error(CLI_USAGE, "core: no kernel '%s'%s%s%s; `lineage core --list` lists them", family,
                  near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
    json_decref(list);
    return known;
}

static int run_kernel(const char *family, bool single, const char *values)
{
    struct rl_case *done;
    struct rl_error err;
    /* The exit status is 2 instead of 3, because a kernel refuses a case only for its content. */
    if (rl_case_run_json(&done, family, single, values, &err) != RL_OK)
        return cli_error(CLI_USAGE, "core %s: %s", family, err.text);
    json_t *results = json_loads(rl_case_values(done), 0, NULL);
    rl_case_release(done);
    if (!results)
        return cli_error(CLI_SYSTEM, "core %s: out of memory", family);
    const json_t *warning, *warnings = json_object_get(results, "warnings");
    size_t i;
    json_array_foreach(warnings, i, warning)
        cli_error(CLI_OK, "core %s: warning: %s", family, json_string_value(warning));
    json_object_del(results, "warnings");
    return cli_json_answer(results);
}

/* The source of a golden file is a text, the input of that name a list. */
static bool is_origin(const char *name, const json_t *value)
{
    return strcmp(name, "source") == 0 && json_is_string(value);
}

static bool is_input(const json_t *kernels, const char *family, const char *name)
{
    const json_t *kernel, *input;
    size_t i, k;
    json_array_foreach(kernels, i, kernel)
        if (strcmp(cli_json_string(kernel, "family"), family) == 0)
            json_array_foreach(json_object_get(kernel, "inputs"), k, input)
                if (strcmp(cli_json_string(input, "name"), name) == 0)
                    return true;
    return false;
}

/* An input beside `inputs` would be ignored, and a file of another family would be read as this one's. Other names are free. */
static int check_beside(const char *family, const json_t *root)
{
    const char *name, *of = json_string_value(json_object_get(root, "family"));
    json_t *value, *kernels = core_kernels();
    int status = kernels ? CLI_GO_ON : CLI_SYSTEM;
    json_object_foreach((json_t *)(uintptr_t)root, name, value)
        if (status == CLI_GO_ON && !is_origin(name, value) && is_input(kernels, family, name))
            status = cli_error(CLI_USAGE, "core %s: %s is beside `inputs`, where nothing reads it; inputs belong into `inputs`",
                               family, name);
    if (status == CLI_GO_ON && of && strcmp(of, family) != 0)
        status = cli_error(CLI_USAGE, "core %s: the case is one of %s", family, of);
    json_decref(kernels);
    return status;
}

/* A case is an object with `inputs`, or the object of inputs itself. A file of golden vectors works without changes:
 * its expected outputs are ignored. */
static int run_case(const char *family, bool single, const json_t *root)
{
    const json_t *inputs = json_object_get(root, "inputs");
    size_t length = 0;
    if (!json_is_object(root) || (inputs && !json_is_object(inputs)))
        return cli_error(CLI_USAGE, "core %s: the case is not an object with `inputs`", family);
    int status = inputs ? check_beside(family, root) : CLI_GO_ON;
    if (status != CLI_GO_ON)
        return status;
    char *values = cli_json_compact(inputs ? inputs : root, &length);
    status = values ? run_kernel(family, single, values) : cli_error(CLI_SYSTEM, "core: out of memory");
    free(values);
    return status;
}

/* Checks the name first, so that a misspelt one fails before it waits for standard input. */
static int run_family(const struct cli_args *args, bool single)
{
    const char *family = args->positional[0];
    if (!is_known(family))
        return CLI_USAGE;
    json_t *root = cli_json_load(args->n_positional > 1 ? args->positional[1] : "-");
    if (!root)
        return CLI_USAGE;
    int status = run_case(family, single, root);
    json_decref(root);
    return status;
}

static int work(const struct cli_args *args, void *context)
{
    const struct core_options *o = context;
    if (o->list)
        return print_list(o->json);
    if (args->n_positional)
        return run_family(args, o->single);
    return cli_error(CLI_USAGE, "core: name a kernel; `lineage core --list` lists them");
}

static struct core_options chosen;
static struct poptOption table[] = {CLI_FLAG("list", &chosen.list, "list the kernels, their inputs and results"),
                                    CLI_FLAG("json", &chosen.json, "with --list: print JSON"),
                                    CLI_FLAG("float", &chosen.single, "run in single precision (default: double)"),
                                    CLI_INPUT_OPTION, POPT_TABLEEND};

/* Words for shell completion, from the kernels' own list. */
static const char *choices(const char *name, char *out, size_t size)
{
    size_t at = 0;
    if (strcmp(name, "FAMILY") != 0)
        return NULL;
    json_t *list = core_kernels();
    for (size_t i = 0; i < json_array_size(list) && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s ", cli_json_string(json_array_get(list, i), "family"));
    json_decref(list);
    return out;
}

const struct cli_command cmd_core = {
    .name = "core",
    .arguments = "FAMILY [FILE|-]",
    .description = "Reads an object with `inputs`, runs the kernel in double precision and prints its results\n"
                   "as one JSON object. Input that would make training silently wrong is refused with exit\n"
                   "status 2; the reason, with array and index, is on standard error.",
    .examples = "  lineage core --list\n"
                "  lineage core a2tgpo_advantage \\\n      fixtures/golden/a2tgpo_advantage/clip-beta-0.5-v1d.json",
    .choices = choices,
    CLI_ON_ARGS(table, 0, 2, work, &chosen),
};
