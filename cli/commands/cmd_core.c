/* cmd_core.c: `lineage core`: a kernel of the training core on a JSON case. */
#include <string.h>

#include "cli.h"
#include "core/core_call.h"

struct core_options {
    int list, single;
};

static int print_list(void)
{
    for (size_t i = 0; core_kernels_double[i]; i++)
        printf("%s\n  %s\n  inputs: %s\n", core_kernels_double[i]->family, core_kernels_double[i]->summary,
               core_kernels_double[i]->inputs);
    return CLI_OK;
}

static int unknown_family(const char *family)
{
    const char *names[256] = {0};
    for (size_t i = 0; core_kernels_double[i] && i < 255; i++)
        names[i] = core_kernels_double[i]->family;
    const char *near = cli_nearest(family, names);
    return cli_error(CLI_USAGE, "core: no kernel '%s'%s%s%s; `lineage core --list` names them", family,
                     near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
}

/* A case is an object with `inputs`; a bare object of inputs is taken as well. A file of golden
 * vectors can be given as it is, with its expected outputs beside the inputs. */
static int run_case(const struct core_kernel *kernel, const json_t *root)
{
    struct core_call call;
    const json_t *inputs = json_object_get(root, "inputs");
    int status = CLI_OK;
    if (!json_is_object(root) || (inputs && !json_is_object(inputs)))
        return cli_error(CLI_USAGE, "core %s: the case is not an object with `inputs`", kernel->family);
    core_call_init(&call, inputs ? inputs : root);
    if (!call.failed)
        kernel->run(&call);
    if (call.failed)
        status = cli_error(CLI_USAGE, "core %s: %s", kernel->family, call.err.text);
    else
        cli_json_print(stdout, call.outputs, true);
    core_call_release(&call);
    return status;
}

/* That a kernel has no single form is told apart from a kernel that is not there: the nearest
 * name would be its own. */
static int run_family(const struct cli_args *args, bool single)
{
    const char *family = args->positional[0];
    const struct core_kernel *kernel = core_find(family, single);
    if (!kernel && single && core_find(family, false))
        return cli_error(CLI_USAGE, "core %s: no single-precision form", family);
    if (!kernel)
        return unknown_family(family);
    json_t *root = cli_json_load(args->n_positional > 1 ? args->positional[1] : "-");
    if (!root)
        return CLI_USAGE;
    int status = run_case(kernel, root);
    json_decref(root);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct core_options o = {0};
    struct poptOption options[] = {
        {"list", 0, POPT_ARG_NONE, &o.list, 0, "name the kernels and their inputs", NULL},
        {"float", 0, POPT_ARG_NONE, &o.single, 0, "run in single precision", NULL},
        CLI_INPUT_OPTION, POPT_TABLEEND};
    struct cli_args args;
    int status = cli_parse(&args, command, options, 0, 2, argc, argv);
    if (status == CLI_GO_ON && o.list)
        status = print_list();
    else if (status == CLI_GO_ON && !args.n_positional)
        status = cli_error(CLI_USAGE, "core: name a kernel; `lineage core --list` names them");
    else if (status == CLI_GO_ON)
        status = run_family(&args, o.single);
    cli_args_release(&args);
    return status;
}

static const char *choices(const char *name, char *out, size_t size)
{
    size_t at = 0;
    if (strcmp(name, "FAMILY") != 0)
        return NULL;
    for (size_t i = 0; core_kernels_double[i] && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s ", core_kernels_double[i]->family);
    return out;
}

const struct cli_command cmd_core = {
    .name = "core",
    .arguments = "FAMILY [FILE|-]",
    .description = "Reads an object with `inputs`, runs the kernel in double precision and prints its results\n"
                   "as one JSON object. Input that would train silently wrong is refused: exit status 2 and\n"
                   "the reason, with array and index, on stderr.",
    .examples = "  lineage core --list\n"
                "  lineage core a2tgpo_advantage fixtures/golden/a2tgpo_advantage/clip-beta-0.5-v1d.json",
    .choices = choices,
    .run = run,
};
