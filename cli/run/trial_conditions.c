#include "run/run_parts.h"

#include <fts.h>
#include <glob.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <xxhash.h>

#include "git/git.h"
#include "support/blas_env.h"

/* READ_MAX: bytes of data that are read before each trial; more are known by their sizes and times. */
enum { LINE = 512, PACKAGES_MAX = 1 << 22, PACKAGES_SECONDS = 120 };
static const off_t read_max = (off_t)1 << 30;

static const char *const known[] = {"gpu", "processor", "budget", "data", "packages", NULL};

const char *conditions_name(const char *list, size_t i, char name[LINEAGE_NAME_MAX])
{
    for (; list && *list; list += *list == ',') {
        const size_t n = strcspn(list, ",");
        if (i-- == 0) {
            snprintf(name, LINEAGE_NAME_MAX, "%.*s", (int)n, list);
            return name;
        }
        list += n;
    }
    return NULL;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; known[i]; i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return false;
}

bool conditions_check(const char *list, char *why, size_t size)
{
    char name[LINEAGE_NAME_MAX];
    size_t n = 0;
    for (; conditions_name(list, n, name); n++)
        if (!is_known(name))
            return snprintf(why, size, "comparable: '%.60s' is none of gpu, processor, budget, data, packages", name), false;
    return n || (snprintf(why, size, "comparable: name conditions: gpu, processor, budget, data, packages"), false);
}

/* Reads the text behind the key in the first line of the file that begins with it: `model name : TEXT`, `simd_count 304`. */
static bool read_line(char out[LINE], const char *path, const char *key)
{
    char line[LINE];
    FILE *in = fopen(path, "re");
    const size_t n = strlen(key);
    bool found = false;
    while (in && !found && fgets(line, sizeof line, in)) {
        const size_t between = strncmp(line, key, n) == 0 ? strspn(line + n, ": \t") : 0;
        line[strcspn(line, "\n")] = '\0';
        found = between && n + between <= strlen(line);
        if (found)
            strcpy(out, line + n + between);
    }
    if (in)
        fclose(in);
    return found;
}

/* A node of the topology is a GPU if it has SIMD units (amdkfd, Documentation/ABI of the kernel); its name is that of the instruction set. */
static json_t *amd_model(const char *path)
{
    char units[LINE], target[LINE], device[LINE];
    if (!read_line(units, path, "simd_count") || strtoul(units, NULL, 10) == 0 ||
        !read_line(target, path, "gfx_target_version") || !read_line(device, path, "device_id"))
        return NULL;
    const unsigned version = (unsigned)strtoul(target, NULL, 10);
    return json_sprintf("AMD gfx%u%u%x 0x%lx", version / 10000, version / 100 % 100, version % 100, strtoul(device, NULL, 10));
}

json_t *conditions_gpus(const char *nvidia, const char *amd)
{
    json_t *list = json_array();
    char model[LINE];
    glob_t found = {0};
    if (glob(nvidia, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (read_line(model, found.gl_pathv[i], "Model"))
                json_array_append_new(list, cli_json_text(model));
    globfree(&found);
    found = (glob_t){0};
    if (glob(amd, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++) {
            json_t *text = amd_model(found.gl_pathv[i]);
            if (text)
                json_array_append_new(list, text);
        }
    globfree(&found);
    return list;
}

void conditions_machine(json_t *run)
{
    struct utsname name;
    char model[LINE];
    if (uname(&name) == 0)
        cli_json_set(run, "host", cli_json_text(name.nodename), "system",
                     json_sprintf("%s %s %s", name.sysname, name.release, name.machine), NULL);
    cli_json_set(run, "processor", read_line(model, "/proc/cpuinfo", "model name") ? cli_json_text(model) : NULL, "vector_level",
                 json_string(blas_env_level()), "processors", json_integer(sysconf(_SC_NPROCESSORS_ONLN)), "memory_bytes",
                 json_integer((json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE)), "gpus",
                 conditions_gpus("/proc/driver/nvidia/gpus/*/information", "/sys/class/kfd/kfd/topology/nodes/*/properties"),
                 NULL);
}

/* CUDA_VISIBLE_DEVICES chooses among them by number, up to the first that is negative; any other form of it, such as an id, is a part
 * of the text. */
static json_t *gpu_text(const json_t *models)
{
    const char *cuda = getenv("CUDA_VISIBLE_DEVICES"), *hip = getenv("HIP_VISIBLE_DEVICES"),
               *visible = cuda  ? cuda
                          : hip ? hip
                                : getenv("ROCR_VISIBLE_DEVICES"),
               *first = json_string_value(json_array_get(models, 0));
    const size_t all = json_array_size(models);
    size_t seen = all, i;
    bool equal = true;
    json_t *model, *text;
    if (visible) {
        seen = *visible && *visible != '-';
        for (const char *c = visible; seen && *c; c++) {
            if (*c == ',' && c[1] == '-')
                break;
            seen += *c == ',';
        }
    }
    json_array_foreach((json_t *)(uintptr_t)models, i, model)
        equal = equal && strcmp(json_string_value(model), first) == 0;
    if (!all || !seen)
        text = json_string("none");
    else if (equal)
        text = json_sprintf("%zu x %s", seen, first);
    else
        text = json_sprintf("%zu of %zu, %s first%s%s", seen, all, first, visible ? ", " : "", visible ? visible : "");
    return text;
}

static json_t *budget_text(const struct command_trial *t)
{
    const struct trial_settings *s = &t->settings;
    const struct {
        const char *name;
        double amount;
    } limits[] = {{"train_seconds", s->train_seconds},
                  {"eval_seconds", s->eval_seconds},
                  {"train_cpu_seconds", s->train_cpu_seconds},
                  {"eval_cpu_seconds", s->eval_cpu_seconds},
                  {"memory_bytes", s->memory_bytes}};
    char text[256] = "";
    size_t n = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].amount > 0)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %.10g", n ? ", " : "", limits[i].name, limits[i].amount);
    return json_string(n ? text : "none");
}

struct digesting {
    XXH3_state_t *state;
    off_t bytes;
    bool read; /* by content; false: by size and time of modification */
    struct followed {
        dev_t device;
        ino_t inode;
    } *followed; /* [n_followed] directories to which links lead */
    size_t n_followed, room;
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* name: the path below the one that was given, so that the same files elsewhere are the same data. */
static bool add_file(struct digesting *d, const FTSENT *entry, const char *name)
{
    struct protected_digest digest = {0};
    if (d->read && !protected_file_digest(&digest, entry->fts_accpath))
        return false;
    const uint64_t about[] = {digest.low, digest.high, (uint64_t)entry->fts_statp->st_size,
                              d->read ? 0 : (uint64_t)entry->fts_statp->st_mtime};
    XXH3_128bits_update(d->state, name, strlen(name) + 1);
    XXH3_128bits_update(d->state, about, sizeof about);
    return true;
}

/* Paths are relative to the directory in which the command works. */
static bool path_of(char out[PATH_MAX], const struct command_trial *t, const char *path)
{
    const bool below = t->dir && path[0] != '/';
    const int n = snprintf(out, PATH_MAX, "%s%s%s", below ? t->dir : "", below ? "/" : "", path);
    return n > 0 && n < PATH_MAX;
}

/* Whether no link has led to this directory before. Links between a few directories make more paths than anybody can walk. */
static bool follow(struct digesting *d, const struct stat *st)
{
    for (size_t i = 0; i < d->n_followed; i++)
        if (d->followed[i].device == st->st_dev && d->followed[i].inode == st->st_ino)
            return false;
    if (!CLI_ROOM(d->followed, d->n_followed, d->room))
        return false;
    d->followed[d->n_followed++] = (struct followed){st->st_dev, st->st_ino};
    return true;
}

/* Says why an entry cannot be part of the data; NULL: it can. */
static const char *trouble_with(const FTSENT *entry, const struct command_trial *t)
{
    const bool fails = entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS || entry->fts_info == FTS_DNR;
    const bool gone = entry->fts_level == FTS_ROOTLEVEL && entry->fts_info == FTS_SLNONE;
    const bool odd = entry->fts_level == FTS_ROOTLEVEL && entry->fts_info == FTS_DEFAULT;
    return fails                                             ? strerror(entry->fts_errno)
           : gone                                            ? strerror(ENOENT)
           : odd                                             ? "neither a file nor a directory"
           : t->interrupts && interrupts_came(t->interrupts) ? "interrupted"
                                                             : NULL;
}

/* Walks the files in the order of their names. state NULL: only adds their bytes. Returns false after printing why. */
static bool walk(struct digesting *d, const struct command_trial *t)
{
    bool good = true, linked = false;
    d->n_followed = 0;
    for (size_t i = 0; good && t->data[i]; i++) {
        char root[PATH_MAX];
        char *const roots[] = {root, NULL};
        if (!*t->data[i] || !path_of(root, t, t->data[i]))
            return cli_refuse("--data: '%.200s' is empty or too long for a path", t->data[i]);
        FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
        FTSENT *entry;
        while (good && tree && (entry = fts_read(tree))) {
            const char *trouble = trouble_with(entry, t);
            if (trouble)
                good = cli_refuse("--data: %s: %s", entry->fts_path, trouble);
            else if (entry->fts_info == FTS_SL)
                fts_set(tree, entry, FTS_FOLLOW);
            else if (entry->fts_info == FTS_D && linked && !follow(d, entry->fts_statp))
                fts_set(tree, entry, FTS_SKIP);
            else if (entry->fts_info == FTS_F && !d->state)
                d->bytes += entry->fts_statp->st_size;
            else if (entry->fts_info == FTS_F && !add_file(d, entry, entry->fts_path + strlen(root)))
                good = cli_refuse("--data: %s: %s", entry->fts_path, strerror(errno));
            linked = entry->fts_info == FTS_SL; /* it comes again as what it leads to */
        }
        if (!tree)
            good = cli_no_memory() == CLI_OK;
        else
            fts_close(tree);
    }
    return good;
}

static json_t *data_text(const struct command_trial *t)
{
    struct digesting d = {0};
    json_t *text = NULL;
    const bool good = walk(&d, t);
    d.read = d.bytes <= read_max;
    d.state = good ? XXH3_createState() : NULL;
    if (d.state)
        XXH3_128bits_reset(d.state);
    if (d.state && walk(&d, t))
        text = json_sprintf("%016llx%s", (unsigned long long)XXH3_128bits_digest(d.state).low64,
                            d.read ? "" : " by sizes and times");
    XXH3_freeState(d.state);
    free(d.followed);
    return text;
}

static bool has_data(const struct command_trial *t)
{
    char path[PATH_MAX];
    for (size_t i = 0; t->data[i]; i++)
        if (!path_of(path, t, t->data[i]) || access(path, R_OK) != 0)
            return false;
    return true;
}

/* The words that start the Python which the command would use: `python3.12`, `uv run python`, else python3. */
static void python_of(const char *out[6], const char *const *argv)
{
    const char *name = argv && argv[0] ? strrchr(argv[0], '/') : NULL;
    size_t n = 0;
    name = name ? name + 1 : argv ? argv[0] : "";
    if (strncmp(name, "python", 6) == 0) {
        out[n++] = argv[0];
    } else if ((strcmp(name, "uv") == 0 || strcmp(name, "poetry") == 0) && argv[1] && strcmp(argv[1], "run") == 0) {
        out[n++] = argv[0], out[n++] = "run", out[n++] = "python";
    } else {
        out[n++] = "python3";
    }
    out[n++] = "-c";
    out[n++] = "import importlib.metadata as m\n"
               "print(*sorted({f\"{d.metadata['Name']}=={d.version}\" for d in m.distributions()}), sep='\\n')";
    out[n] = NULL;
}

static json_t *packages_text(const struct command_trial *t)
{
    const char *words[6];
    size_t length;
    python_of(words, t->argv);
    char *text = read_command(words, NULL, PACKAGES_SECONDS, PACKAGES_MAX, &length);
    if (!text)
        return cli_error(CLI_USAGE, "--comparable packages: %s does not list its packages; leave packages out", words[0]), NULL;
    json_t *digest = json_sprintf("%016llx", (unsigned long long)XXH3_64bits(text, length));
    free(text);
    return digest;
}

json_t *conditions_now(const struct command_trial *t)
{
    json_t *now = json_object(), *machine = json_object(), *data = NULL, *packages = NULL;
    conditions_machine(machine);
    cli_json_set(now, "gpu", gpu_text(json_object_get(machine, "gpus")), "processor",
                 json_sprintf("%lld x %s", json_integer_value(json_object_get(machine, "processors")),
                              *cli_json_member(machine, "processor") ? cli_json_member(machine, "processor") : "unknown"),
                 NULL);
    json_decref(machine);
    json_object_set_new(now, "budget", budget_text(t));
    const bool wants_packages = t->comparable && strstr(t->comparable, "packages");
    /* The code that a rerun checks out may lack data that git ignores. */
    const bool looks = t->data && t->data[0] && (!t->rerun_of || has_data(t));
    bool good = (!looks || (data = data_text(t))) && (!wants_packages || (packages = packages_text(t)));
    cli_json_set(now, "data", data ? data : NULL, "packages", packages ? packages : NULL, NULL);
    if (good)
        return now;
    json_decref(now);
    return NULL;
}

json_t *conditions_of(const struct lineage_store *store, const char *exp_id)
{
    json_t *run = provenance_load(store, exp_id), *conditions = json_incref(json_object_get(run, "conditions"));
    json_decref(run);
    return conditions;
}

const char *conditions_differ(char out[CONDITIONS_TEXT_MAX], const json_t *own, const json_t *other, const char *only)
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; known[i]; i++) {
        char name[LINEAGE_NAME_MAX];
        const char *mine = json_string_value(json_object_get(own, known[i])),
                   *theirs = json_string_value(json_object_get(other, known[i]));
        bool asked = !only;
        for (size_t k = 0; !asked && conditions_name(only, k, name); k++)
            asked = strcmp(name, known[i]) == 0;
        if (asked && mine && theirs && strcmp(mine, theirs) != 0 && n < CONDITIONS_TEXT_MAX)
            n += (size_t)snprintf(out + n, CONDITIONS_TEXT_MAX - n, "%s%s: %.80s, not %.80s", n ? ", " : "", known[i], mine,
                                  theirs);
    }
    return out;
}
