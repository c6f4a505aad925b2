/* sweep_merge.c: overriding parts of a JSON object. */
#include "sweep_merge.h"

#include <stdlib.h>
#include <string.h>

#define KEY_SIZE 64

static bool lay_over_list(json_t *onto, json_t *over);

/* True if both are containers of one kind, and *done says whether they were merged. */
static bool merges(json_t *onto, json_t *over, bool *done)
{
    if (json_is_object(onto) && json_is_object(over))
        *done = sweep_lay_over(onto, over);
    else if (json_is_array(onto) && json_is_array(over))
        *done = lay_over_list(onto, over);
    else
        return false;
    return true;
}

static bool lay_over_list(json_t *onto, json_t *over)
{
    size_t i, n = json_array_size(onto);
    json_t *value;
    json_array_foreach(over, i, value)
    {
        bool done;
        if (i < n && merges(json_array_get(onto, i), value, &done)) {
            if (!done)
                return false;
            continue;
        }
        json_t *copy = json_deep_copy(value);
        if (i < n ? json_array_set_new(onto, i, copy) : json_array_append_new(onto, copy))
            return false;
    }
    return true;
}

bool sweep_lay_over(json_t *onto, json_t *over)
{
    const char *key;
    json_t *value;
    json_object_foreach(over, key, value)
    {
        bool done;
        if (!merges(json_object_get(onto, key), value, &done))
            done = json_object_set_new(onto, key, json_deep_copy(value)) == 0;
        if (!done)
            return false;
    }
    return true;
}

/* The list or object under a key, made if it is not there. */
static json_t *member(json_t *object, const char *key, bool list)
{
    json_t *value = json_object_get(object, key);
    if (value)
        return value;
    value = list ? json_pack("[{}]") : json_object();
    return json_object_set_new(object, key, value) == 0 ? value : NULL;
}

/* Move along one part of a path that is not its last: the object there, or NULL. */
static json_t *descend(json_t *object, const char *key, const char **rest)
{
    if (**rest == '.') {
        ++*rest;
        return member(object, key, false);
    }
    char *end;
    unsigned long i = strtoul(*rest + 1, &end, 10);
    if (end == *rest + 1 || end[0] != ']' || end[1] != '.')
        return NULL;
    *rest = end + 2;
    return json_array_get(member(object, key, true), i);
}

bool sweep_put(json_t *recipe, const char *path, json_t *value)
{
    json_t *object = recipe;
    while (json_is_object(object)) {
        char key[KEY_SIZE];
        size_t length = strcspn(path, ".[");
        if (length == 0 || length >= sizeof key)
            return false;
        memcpy(key, path, length);
        key[length] = 0;
        path += length;
        if (!*path)
            return json_object_set(object, key, value) == 0;
        object = descend(object, key, &path);
    }
    return false;
}
