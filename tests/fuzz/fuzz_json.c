/*
 * fuzz_json.c: reads hostile JSON. An object with the key `family` is run as a case of that kernel, like the golden
 * vectors, also in a list; anything else is read as lineage.json.
 */
#include <string.h>

#include <case_call.h>

#include "format/config.h"
#include "fuzz.h"

static void run_kernel(const struct case_kernel *kernel, const json_t *root)
{
    struct case_call call;
    const json_t *inputs = json_object_get(root, "inputs");
    case_call_init(&call, json_is_object(inputs) ? inputs : root);
    kernel->run(&call);
    fuzz_assert(!call.failed || call.err.text[0]);
    case_call_release(&call);
}

static void read_config(const char *text, size_t size)
{
    struct lineage_config config, again;
    struct buf out = {0};
    if (config_parse(&config, NULL, text, size, NULL) != LINEAGE_OK)
        return;
    config_write(&out, &config, NULL);
    fuzz_assert(config_parse(&again, NULL, out.data, out.length, NULL) == LINEAGE_OK);
    fuzz_assert(strcmp(config.metric, again.metric) == 0 && config.direction == again.direction);
    buf_release(&out);
}

static void run_case(const json_t *root)
{
    const char *family = json_string_value(json_object_get(root, "family"));
    const struct case_kernel *kernel = family ? case_find(family, false) : NULL;
    const struct case_kernel *single = family ? case_find(family, true) : NULL;
    if (kernel)
        run_kernel(kernel, root);
    if (single)
        run_kernel(single, root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *item;
    size_t i;
    run_case(root);
    json_array_foreach(root, i, item)
        run_case(item);
    if (!json_string_value(json_object_get(root, "family")))
        read_config((const char *)data, size);
    json_decref(root);
    return 0;
}
