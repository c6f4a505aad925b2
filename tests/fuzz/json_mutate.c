/*
 * json_mutate.c: mutates JSON as a tree, so that the result still parses and reaches the code after the parser.
 * Values change their type or size; entries are removed, duplicated and moved.
 */
#include <jansson.h>
#include <string.h>

#include "fuzz.h"

struct rng {
    uint64_t state;
};

static size_t below(struct rng *rng, size_t bound)
{
    rng->state = rng->state * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(rng->state >> 33) % bound;
}

static json_t *hostile_value(struct rng *rng)
{
    static const double reals[] = {0,    -0.0,  1,    -1,    0.5, 1e308,   -1e308, 5e-324,     1e-9,
                                   -745, 709.9, 1e39, -40.5, 20,  20.0001, 1e16,   2147483648, 0.1};
    static const json_int_t integers[] = {0, 1, 2, -1, 7, 63, 64, -2, 2147483647, 9223372036854775807};
    static const char *const texts[] = {"", "token", "token_k1", "all", "a,b", "1_2", "-1", "\xc3\xa9"};
    switch (below(rng, 9)) {
    case 0: return json_null();
    case 1: return json_boolean(below(rng, 2));
    case 2: return json_string(texts[below(rng, sizeof texts / sizeof *texts)]);
    case 3: return json_array();
    case 4: return json_object();
    case 5: return json_pack("[[i, f], [i]]", 1, 2.5, 3);
    case 6: return json_integer(integers[below(rng, sizeof integers / sizeof *integers)]);
    default: return json_real(reals[below(rng, sizeof reals / sizeof *reals)]);
    }
}

static void mutate_array(json_t *array, struct rng *rng)
{
    size_t n = json_array_size(array), i = n ? below(rng, n) : 0;
    json_t *item = json_array_get(array, i);
    switch (below(rng, 5)) {
    case 0: json_array_remove(array, i); break;
    case 1: json_array_append_new(array, json_deep_copy(item)); break;
    case 2: json_array_insert_new(array, i, hostile_value(rng)); break;
    case 3: json_array_clear(array); break;
    default:
        if (item)
            json_array_set_new(array, i, hostile_value(rng));
    }
}

static const char *any_key(const json_t *object, struct rng *rng)
{
    size_t n = json_object_size(object), skip = n ? below(rng, n) : 0;
    void *at = json_object_iter((json_t *)(uintptr_t)object);
    while (at && skip--)
        at = json_object_iter_next((json_t *)(uintptr_t)object, at);
    return at ? json_object_iter_key(at) : NULL;
}

static void mutate_object(json_t *object, struct rng *rng)
{
    const char *key = any_key(object, rng), *other = any_key(object, rng);
    if (!key)
        return;
    switch (below(rng, 4)) {
    case 0: json_object_del(object, key); break;
    case 1: json_object_set_new(object, key, json_deep_copy(json_object_get(object, other))); break;
    default: json_object_set_new(object, key, hostile_value(rng));
    }
}

/* Descends at random and mutates at a random depth. */
static void mutate_tree(json_t *value, struct rng *rng)
{
    for (int depth = 0; depth < 5; depth++) {
        size_t n = json_array_size(value);
        const char *key = json_is_object(value) ? any_key(value, rng) : NULL;
        json_t *child = key ? json_object_get(value, key) : n ? json_array_get(value, below(rng, n)) : NULL;
        if (!(json_is_array(child) || json_is_object(child)) || (depth > 0 && below(rng, 4) == 0))
            break;
        value = child;
    }
    if (json_is_array(value))
        mutate_array(value, rng);
    else if (json_is_object(value))
        mutate_object(value, rng);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    struct rng rng = {seed};
    json_t *root = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);
    if (!root)
        return 0;
    json_t *inputs = json_object_get(root, "inputs");
    for (size_t i = 0, n = 1 + below(&rng, 3); i < n; i++)
        mutate_tree(json_is_object(inputs) ? inputs : root, &rng);
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17));
    size_t length = text ? strlen(text) : 0;
    length = length <= max_size ? length : 0;
    memcpy(data, text ? text : "", length);
    free(text);
    json_decref(root);
    return length;
}
