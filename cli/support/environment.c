#define _GNU_SOURCE /* strcasestr */
#include "support/environment.h"

#include <strings.h>

#include "cli.h"

/* The words by which programs and libraries of many languages say what ended them. Case does not count, # is a number, and a line end the
 * end of the text. */
/* clang-format off */
static const struct {
    enum lineage_cause cause;
    bool lacks; /* the machine lacks it: it says nothing about the settings */
    const char *words[128];
} causes[] = {
    /* The first three, of scikit-learn and XGBoost, judge the data, the others the value of a setting. */
    {LINEAGE_CAUSE_CODE, false,
     {"Input X contains NaN", "Input y contains NaN", "Check failed: valid: Label contains NaN",
      "ValueError: time limit must be ", "ValueError: walltime must be ", "walltime: Field required"}},
    /* Nothing is missing, and no memory is lacking: a library that is loaded too late, and Slurm. */
    {LINEAGE_CAUSE_UNKNOWN, true,
     {"in static TLS block", "srun: error: Unable to allocate resources: ", "batch job submission failed: "}},
    {LINEAGE_CAUSE_MISSING, true,
     {"ModuleNotFoundError", "No module named", "Cannot find module", "Cannot find package",
      "error while loading shared libraries", "cannot open shared object file", "no CUDA-capable device",
      "CUDA driver version is insufficient", "Found no NVIDIA driver", "No CUDA GPUs are available",
      "not compiled with CUDA enabled", "not compiled with CUDA support", "PaddlePaddle is not compiled with CUDA",
      "requires at least one CUDA device", "no GPUs found", "No supported gpu backend found", "Unsupported device target",
      "invalid device ordinal", "Unexpected error from cudaGetDeviceCount", "assert _default_backend is not None",
      "Unknown backend: 'gpu'", "Unknown backend: 'cuda'", "Unknown backend: 'tpu'", "Unknown backend gpu",
      "Unknown backend cuda", "Unknown backend tpu", "no kernel image is available", "uncorrectable ECC error encountered",
      "fallen off the bus", "' not found (required by ", "failure in name resolution", "Name or service not known",
      "Could not resolve host", "Network is unreachable", "Connection refused", "[Connect call failed (", /* of aiohttp */
      "while trying to connect to", "no validated address for host", "no internet connection", "Unable to locate credentials",
      "Missing credentials", "No API key configured", "too large for size-limited license", "No license found",
      "no valid license found", "license has expired", "license checkout failed", "Please use the NLTK Downloader",
      "Failed to find C compiler", "No working C++ compiler", "is required to load C++ extensions", "seems to be not installed",
      "not found in your environment", "requires optional dependencies", /* of Inspect */ "CUDA Setup failed",
      "Can't find model '", "NameResolutionError", "Max retries exceeded with url", "OfflineModeIsEnabled",
      "We couldn't connect to '", "GatedRepoError", "LocalEntryNotFoundError", "Address already in use", "EADDRINUSE",
      "Failed to spawn", "executable file not found in $PATH", "did not resolve to an alias", /* Podman's name of an image */
      "could not find pixi.toml", "No interpreter found", "No solution found when", "can't open file '", "Command not found: ",
      "Missing script: ", "does not contain recipe", "no rule to make target", "could not find an executable",
      "not enough slots available", "failed to run command", "there is no package called", "LoadError: cannot load such file",
      "ClassNotFoundException", "Could not find or load main class", "Cannot connect to the Docker daemon",
      "EnvironmentLocationNotFound", "could not find a pyproject.toml", "Could not read package.json", "No kernel named",
      "NoSuchKernel", "Unable to access jarfile", "unable to locate package", " in @INC (", "Package not found",
      "ArgumentError: Package ", "can't find '__main__' module", "could not find `Cargo.toml`"}},
    {LINEAGE_CAUSE_DISK, true,
     {"No space left", "Disk quota exceeded", "[Errno 28]", "os error 28", "errno = 28", "ENOSPC", "disk is full", "disk full",
      "not enough space on the disk", "device is full", "SQLITE_FULL", "[Errno 122]", "os error 122", "echo: I/O error",
      "printf: I/O error", "curl: (23)", "PytorchStreamWriter failed writing", ". unexpected pos # vs #",
      "# requested and # written",
      /* of XGBoost, LightGBM and LMDB, which do not pass on the words of the system, as dash, curl, torch and numpy above */
      "FileStream.Write incomplete", "LightGBMError: Cannot write binary data to ",
      "lmdb.Error: mdb_txn_commit: Input/output error"}},
    {LINEAGE_CAUSE_DISK, false, {"File too large", "os error 27", "EFBIG"}},
    {LINEAGE_CAUSE_MEMORY, false,
     {"MemoryError", "OutOfMemory", "OOM when allocating", "maximum allowed buffer size", "out of shared memory",
      "OutOfResources", "out of memory", "bad_alloc", ": bad allocation\n", "allocate memory", "OUT_OF_MEMORY",
      "RESOURCE_EXHAUSTED", "unable to allocate", "memory allocation of", "oom_kill", "oom-kill",
      "oom killer", "OOMKilled", "heap limit", "allocation failed", "DefaultCPUAllocator", "ENOMEM",
      "[Errno 12]", "os error 12)", "not enough memory", "insufficient memory", "ALLOC_FAILED", "insufficient shared memory",
      "No available memory", "memory limit exceeded", "exceeding memory limits", /* of Spark, beside YARN's */
      "beyond physical memory limits", "TERM_MEMLIMIT", "mem #kb exceeded limit", /* PBS: mem, vmem, pmem */
      "exceeded memory limit", "malloc of size", "memory exhausted", "Allowed memory size", "not enough GPU memory",
      "larger than the available KV cache memory", "less than desired GPU memory", "could not allocate",
      "cannot allocate", "can't allocate", "failed to alloc", "bad_array_new_length", "Memory allocation still failed"}},
    {LINEAGE_CAUSE_ARGUMENTS, false,
     {"error: argument ", "unrecognized argument", "unrecognized option", "GetoptError", "unknown option", "unknown flag",
      "unknown argument", "unexpected argument", "arguments are required", "invalid value '", "invalid value \"",
      "Invalid value for ", "No such option", "Missing option", "Missing argument", "Missing parameter",
      "no value for the required argument", "Missing mandatory value", "invalid option", "illegal option", "bad option",
      "flag provided but not defined", "Could not consume arg", "Unknown command line flag", "Flags parsing error",
      "Error parsing --", "Could not override ", "is not in struct", "required option", "Required options",
      "not used by the HfArgumentParser", "No such command", "Got unexpected extra argument", "Could not append to config",
      "Ambiguous option", "expected one argument", "invalid choice", "does not have a value", "requires an argument",
      "ConfigAttributeError", "unrecognized command", "Unknown arguments", "Error merging override", "ConfigKeyError",
      "ConfigAddedError", "mismatched input", "no viable alternative", /* of Java: */ "Invalid maximum heap size",
      "Invalid initial heap size", "Unrecognized VM option", "Initial heap size set to a larger value",
      "draccus.utils.DecodingError", "omegaconf.errors.ValidationError", "omegaconf.errors.MissingMandatoryValue",
      "cannot be added since the config is locked", "MissingParameterException"}},
    {LINEAGE_CAUSE_DIVERGENCE, false,
     {"diverged", "diverging", "diverges", "divergence detected",
      "loss divergence", /* not KL divergence, nor divergences of NUTS */ "is nan", "nan loss", "became nan",
      "returned nan values", "Tensor had NaN", "Tensor had Inf", "FloatingPointError: overflow encountered",
      "FloatingPointError: invalid value encountered", "FloatingPointError: divide by zero", "was nan", "non-finite", "nonfinite",
      "not finite", "nan detected", "found nan", "loss=nan", "loss: nan", "nan or inf", "inf or nan", "contains nan",
      "contain nan", "NaN in ", "loss exploded", "loss is inf", "Invalid loss, terminating", /* of Keras */ "not a finite number",
      "Minimum loss scale", "loss scale already at minimum", "invalid value (nan)", "invalid value (inf)", "element < 0",
      "NaN/Inf", "nan encountered", "found invalid values:", "encountered nan"}},
    {LINEAGE_CAUSE_TIME, false, {"DUE TO TIME LIMIT"}}, /* Slurm: `CANCELLED AT .. DUE TO TIME LIMIT` */
    {LINEAGE_CAUSE_INTERRUPT, false, {"KeyboardInterrupt", "CANCELLED AT", "due to preemption", "SIGTERM received"}},
    {LINEAGE_CAUSE_TIME, false,
     {"TimeoutExpired: ", " milliseconds before timing out", "walltime", "time limit", "SIGXCPU", "CPU time limit",
      "TERM_RUNLIMIT"}},
};
/* clang-format on */
enum { N_CAUSES = sizeof causes / sizeof *causes };

/* Finds a word, in which # stands for digits, and a line end for the end of the text. */
static const char *find_word(const char *text, const char *word)
{
    char first[64];
    size_t n = strcspn(word, "#\n");
    const size_t length = strlen(text);
    if (word[n] == '\n')
        return length >= n && strncasecmp(text + length - n, word, n) == 0 ? text + length - n : NULL;
    if (!word[n])
        return strcasestr(text, word);
    snprintf(first, sizeof first, "%.*s", (int)n, word);
    for (const char *at = text; (at = strcasestr(at, first)) && *at; at++) {
        const char *to = at + n, *rest = word + n;
        while (*rest == '#') {
            size_t digits = strspn(to, "0123456789"), same = strcspn(rest + 1, "#");
            if (!digits || strncasecmp(to + digits, rest + 1, same) != 0)
                break;
            to += digits + same;
            rest += 1 + same;
        }
        if (!*rest)
            return at;
    }
    return NULL;
}

/* Whether the place in the text is inside a path, which may have any name. */
static bool is_in_path(const char *text, const char *at)
{
    const char *from = at;
    while (from > text && !strchr(" \t'\"`(=,:[", from[-1]))
        from--;
    from += *from == '~' ? 1 : strspn(from, ".");
    return *from == '/' && from < at;
}

/* Whether the text lists before the place what the reason may be, as Ray and joblib do when a worker is gone. */
static bool is_guess(const char *text, const char *at)
{
    static const char *const leads[] = {"causes include", "could be caused", "may be caused", "possible cause",
                                        "potential root cause"};
    bool is = false;
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        const char *lead = strcasestr(text, leads[i]);
        is = is || (lead && lead < at);
    }
    return is;
}

/* Whether the place is in a quoted name of which the error around it says that it is not there: `KeyError: 'walltime'`. */
static bool is_absent(const char *text, const char *at)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    static const char *const errors[] = {
        "KeyError: ", "NameError: ", "AttributeError: ", "UnboundLocalError: ", "ImportError: cannot import name "};
    const char *from = at, *error = text + strspn(text, " \t");
    bool is = false;
    while (from > text && strchr(name, from[-1]))
        from--;
    if (from == text || !strchr("'\"", from[-1]) || !strchr(name, *at) || at[strspn(at, name)] != from[-1])
        return false;
    for (const char *next = text; (next = strstr(next, ", caused by ")) && next < at;)
        error = next += strlen(", caused by ");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        is = is || strncmp(error, errors[i], strlen(errors[i])) == 0;
    return is;
}

/* Finds a word that is neither in a path nor a name that is not there nor a guess. */
static const char *find_said(const char *text, const char *word)
{
    const char *at = find_word(text, word);
    while (at && (is_in_path(text, at) || is_absent(text, at)))
        at = find_word(at + 1, word);
    return at && is_guess(text, at) ? NULL : at;
}

const char *cli_cause_words(const char *text, enum lineage_cause *cause, bool *lacks)
{
    for (size_t i = 0; text && i < N_CAUSES; i++)
        for (const char *const *word = causes[i].words; *word; word++) {
            const char *at = find_said(text, *word);
            if (!at)
                continue;
            *cause = causes[i].cause;
            *lacks = causes[i].lacks;
            return at;
        }
    return NULL;
}

bool cli_blames_environment(const char *text)
{
    enum lineage_cause cause;
    bool lacks;
    return cli_cause_words(text, &cause, &lacks) && lacks;
}

const char *cli_sign(const char *unicode, const char *ascii)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !(locale && *locale); i++)
        locale = getenv(names[i]);
    return locale && (strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0) ? ascii : unicode;
}
