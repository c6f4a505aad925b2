/* Tests what is read from the last output of a failed command: the error, its place, and the cause. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "run/run_parts.h"

static struct trial_outcome read_text(const char *text, size_t n, int exit_status)
{
    static const char *const names[] = {"val_acc"};
    const struct metric_query asked = {.names = names, .n_names = 1};
    struct trial_outcome outcome = {.exit_status = exit_status, .evidence = "old", .cause = LINEAGE_CAUSE_MEMORY};
    failure_evidence_read(&outcome, &asked, text, n);
    return outcome;
}

static void every_language_names_its_error(void **state)
{
    static const struct {
        const char *text, *evidence;
        int exit_status;
        enum lineage_cause cause;
    } cases[] = {
        /* CPython 3.11, with the marks below the line */
        {"step 1 loss: 3\nTraceback (most recent call last):\n  File \"/tmp/w/train.py\", line 12, in <module>\n    main()\n"
         "  File \"/tmp/w/train.py\", line 7, in main\n    print(lrr)\n          ^^^\nNameError: name 'lrr' is not defined\n",
         "NameError: name 'lrr' is not defined (train.py:7)", 1, LINEAGE_CAUSE_CODE},
        /* the innermost frame is in a library */
        {"Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    x = np.zeros((2, 3)) @ np.zeros((2, "
         "3))\n"
         "  File \"/usr/lib/python3/dist-packages/numpy/core.py\", line 99, in matmul\n    raise\n"
         "ValueError: matmul: Input operand 1 has a mismatch\n",
         "ValueError: matmul: Input operand 1 has a mismatch (train.py:3)", 1, LINEAGE_CAUSE_CODE},
        {"Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\n    import numpy\n"
         "ModuleNotFoundError: No module named 'numpy'\n",
         "ModuleNotFoundError: No module named 'numpy' (train.py:1)", 1, LINEAGE_CAUSE_MISSING},
        /* an installed package that fails while it is imported says nothing about the settings; the program's own module does */
        {"Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\n    from recbole import run\n"
         "  File \"/venv/lib/python3.11/site-packages/recbole/__init__.py\", line 3, in <module>\n    bool8 = np.bool8\n"
         "AttributeError: module 'numpy' has no attribute 'bool8'\n",
         "AttributeError: module 'numpy' has no attribute 'bool8' (train.py:1)", 1, LINEAGE_CAUSE_MISSING},
        {"Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\n    from model import Net\n"
         "ImportError: cannot import name 'Net' from 'model' (/home/a/model.py)\n",
         "ImportError: cannot import name 'Net' from 'model' (/home/a/model.py) (train.py:1)", 1, LINEAGE_CAUSE_CODE},
        {"Traceback (most recent call last):\n  File \"dvc.py\", line 1, in <module>\n    from dvclive import Live\n"
         "  File \"/venv/lib/python3.11/site-packages/dvclive/__init__.py\", line 3, in <module>\n    import dvc\n"
         "  File \"dvc.py\", line 1, in <module>\n    from dvclive import Live\n"
         "ImportError: cannot import name 'Live' from partially initialized module 'dvclive'\n",
         "ImportError: cannot import name 'Live' from partially initialized module 'dvclive' (dvc.py:1)", 1, LINEAGE_CAUSE_CODE},
        {"Traceback (most recent call last):\n  File \"t.py\", line 4, in <module>\n    fasttext.train(a)\nRuntimeError: "
         "Encountered "
         "NaN.\n",
         "RuntimeError: Encountered NaN. (t.py:4)", 1, LINEAGE_CAUSE_DIVERGENCE},
        {"Traceback (most recent call last):\n  File \"t.py\", line 4, in <module>\n    main()\nConfigAddedError: Added new "
         "config entry "
         "that is not used anywhere\nConflicting configuration values:\n  lrr=3\n",
         "ConfigAddedError: Added new config entry that is not used anywhere: Conflicting configuration values: lrr=3 (t.py:4)",
         1, LINEAGE_CAUSE_ARGUMENTS},
        {"Number of divergences: 0\nKL divergence: 0.1\nerror: no rows\n", "error: no rows", 1, LINEAGE_CAUSE_CODE},
        {"  File \"train.py\", line 2\n    if x\n        ^\nSyntaxError: expected ':'\n",
         "SyntaxError: expected ':' (train.py:2)", 1, LINEAGE_CAUSE_CODE},
        {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x'\n\nDuring handling of the "
         "above "
         "exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"b.py\", line 2, in <module>\n"
         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (b.py:2)", 1, LINEAGE_CAUSE_MEMORY},
        /* a launcher reports the end of its child */
        {"Traceback (most recent call last):\n  File \"train.py\", line 5, in <module>\nAssertionError\n"
         "Traceback (most recent call last):\n  File \"/usr/local/bin/torchrun\", line 8, in <module>\n"
         "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\n",
         "AssertionError (train.py:5)", 1, LINEAGE_CAUSE_CODE},
        {"\033[31mTraceback (most recent call last):\033[0m\r\n  File \"t.py\", line 4, in f\r\n\033[1mRuntimeError\033[0m: bad; "
         "worse\r\n",
         "RuntimeError: bad; worse (t.py:4)", 1, LINEAGE_CAUSE_CODE},
        {"Traceback (most recent call last):\n  File \"/a/model/__init__.py\", line 4, in f\nTypeError: x\n",
         "TypeError: x (model/__init__.py:4)", 1, LINEAGE_CAUSE_CODE},
        {"thread 'main' panicked at src/main.rs:12:5:\nindex out of bounds: the len is 3\nnote: run with RUST_BACKTRACE=1\n",
         "index out of bounds: the len is 3 (main.rs:12)", 101, LINEAGE_CAUSE_CODE},
        {"panic: runtime error: integer divide by zero\n\ngoroutine 1 [running]:\nmain.main()\n\t/home/a/main.go:7 +0x11\nexit "
         "status 2\n",
         "panic: runtime error: integer divide by zero (main.go:7)", 2, LINEAGE_CAUSE_CODE},
        {"train: train.c:12: main: Assertion `n > 0' failed.\n", "main: Assertion `n > 0' failed. (train.c:12)", 0,
         LINEAGE_CAUSE_CODE},
        {"train.c: In function 'main':\ntrain.c:3:5: error: 'x' undeclared\ntrain.c:9:1: error: expected ';'\nmake: *** [train] "
         "Error 1\n",
         "error: 'x' undeclared (train.c:3)", 2, LINEAGE_CAUSE_CODE},
        {"==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6\n    #0 0x4 in main /w/x.c:3\n"
         "SUMMARY: AddressSanitizer: heap-buffer-overflow /w/x.c:3 in main\n",
         "AddressSanitizer: heap-buffer-overflow /w/x.c:3 in main (x.c:3)", 1, LINEAGE_CAUSE_CODE},
        {"/w/train.js:2\nfoo()\n^\n\nReferenceError: foo is not defined\n    at Object.<anonymous> (/w/train.js:2:1)\n"
         "    at node:internal/main/run_main_module:28:49\n",
         "ReferenceError: foo is not defined (train.js:2)", 1, LINEAGE_CAUSE_CODE},
        {"Exception in thread \"main\" java.lang.NullPointerException: x\n\tat A.main(A.java:4)\n",
         "Exception in thread \"main\" java.lang.NullPointerException: x (A.java:4)", 1, LINEAGE_CAUSE_CODE},
        {"ERROR: LoadError: UndefVarError: `x` not defined\nStacktrace:\n [1] top-level scope\n   @ /w/train.jl:3\n",
         "UndefVarError: `x` not defined (train.jl:3)", 1, LINEAGE_CAUSE_CODE},
        {"terminate called after throwing an instance of 'std::bad_alloc'\n  what():  std::bad_alloc\n", "'std::bad_alloc'", 0,
         LINEAGE_CAUSE_MEMORY},
        {"RuntimeError: [metal::malloc] Attempting to allocate 4 bytes which is greater than the maximum allowed buffer size of "
         "2.\n",
         "RuntimeError: [metal::malloc] Attempting to allocate 4 bytes which is greater than the maximum allowed buffer size of "
         "2.",
         1, LINEAGE_CAUSE_MEMORY},
        {"tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor\n",
         "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor", 1, LINEAGE_CAUSE_MEMORY},
        {"triton.runtime.errors.OutOfResources: out of resource: shared memory\n",
         "triton.runtime.errors.OutOfResources: out of resource: shared memory", 1, LINEAGE_CAUSE_MEMORY},
        {"FloatingPointError: Minimum loss scale reached (0.0001).\n", "FloatingPointError: Minimum loss scale reached (0.0001).",
         1, LINEAGE_CAUSE_DIVERGENCE},
        {"FloatingPointError: invalid value (nan) encountered in jit(step)\n",
         "FloatingPointError: invalid value (nan) encountered in jit(step)", 1, LINEAGE_CAUSE_DIVERGENCE},
        {"RuntimeError: No CUDA GPUs are available\n", "RuntimeError: No CUDA GPUs are available", 1, LINEAGE_CAUSE_MISSING},
        {"sh: 1: nvcc: not found\n", "sh: 1: nvcc: not found", 127, LINEAGE_CAUSE_MISSING},
        {"key: not found\n", "key: not found", 1, LINEAGE_CAUSE_CODE},
        /* neither a remark nor a warning says why the program ended */
        {"0 syntax errors found\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"syntax error rate: 0.12\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"WARN tokenizer: Syntax error in sample 17, skipped\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"INFO tokenizer: Syntax error in sample 17\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"sed: illegal option -- r (using -E)\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"TimeoutExpired: probing nvidia-smi, ignored\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"30 s left before timing out\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"RuntimeError: Unable to allocate resources: 40 GiB of device memory\n",
         "RuntimeError: Unable to allocate resources: 40 GiB of device memory", 1, LINEAGE_CAUSE_MEMORY},
        {"sh: 3: Syntax error: end of file unexpected\n", "sh: 3: Syntax error: end of file unexpected", 2, LINEAGE_CAUSE_CODE},
        {"awk: cmd. line:1: {print $1\nawk: cmd. line:1:          ^ syntax error\n", "awk: cmd. line:1:          ^ syntax error",
         1, LINEAGE_CAUSE_CODE},
        {"bash: -c: line 1: syntax error near unexpected token `)'\n", "bash: -c: line 1: syntax error near unexpected token `)'",
         2, LINEAGE_CAUSE_CODE},
        {"./train: error while loading shared libraries: libcudart.so.12: cannot open shared object file\n",
         "./train: error while loading shared libraries: libcudart.so.12: cannot open shared object file", 127,
         LINEAGE_CAUSE_MISSING},
        {"cat: data.bin: No such file or directory\n", "cat: data.bin: No such file or directory", 1, LINEAGE_CAUSE_CODE},
        /* What is printed behind the last words, from a buffer or by another process, does not take the cause from them. */
        {"ggml_cuda: CUDA error: out of memory\nepoch 1 loss 0.5\nepoch 2 loss 0.4\nepoch 3 loss 0.3\n",
         "ggml_cuda: CUDA error: out of memory", 1, LINEAGE_CAUSE_MEMORY},
        {"CUDA out of memory in step 7\nEpoch 2/3 loss: 0.4\n", "CUDA out of memory in step 7", 1, LINEAGE_CAUSE_MEMORY},
        {"write: No space left on device\nepoch 3 loss 0.3\n", "write: No space left on device", 1, LINEAGE_CAUSE_DISK},
        {"CUDA out of memory, retrying with half the batch\nepoch 3 loss 0.3\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"Found no NVIDIA driver\nepoch 3 loss 0.3\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        /* Words of warnings in an error. */
        {"fatal: out of memory (warned 3 times)\n", "fatal: out of memory (warned 3 times)", 1, LINEAGE_CAUSE_MEMORY},
        {"CUDA out of memory, falling back failed\n", "CUDA out of memory, falling back failed", 1, LINEAGE_CAUSE_MEMORY},
        {"Loss is NaN, skipping this batch is disabled. Aborting.\nepoch 1 loss 0.5\n",
         "Loss is NaN, skipping this batch is disabled. Aborting.", 1, LINEAGE_CAUSE_DIVERGENCE},
        {"RuntimeError: CUDA out of memory. Tried to allocate 2 GiB; warning: retrying not possible\nepoch 1 loss 0.5\n",
         "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB; warning: retrying not possible", 1, LINEAGE_CAUSE_MEMORY},
        {"CUDA out of memory after warnings: 3\n", "CUDA out of memory after warnings: 3", 1, LINEAGE_CAUSE_MEMORY},
        {"loss is nan; warmup warning: none\n", "loss is nan; warmup warning: none", 1, LINEAGE_CAUSE_DIVERGENCE},
        {"10:00:01 [WARN] out of memory\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"x.py:3: RuntimeWarning: out of memory\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"2026-01-01 10:00:00 train WARNING loss is nan\n", "", 1, LINEAGE_CAUSE_UNKNOWN},
        /* text that does not report a failure */
        {"step 1 loss: 3\n[2026-01-01 10:00:00] data.py:33 read 5 files\nsee http://example.com:443/x\n", "", 1,
         LINEAGE_CAUSE_UNKNOWN},
        /* rustc 1.95, Maven 3.8.7, Go 1.26, libsvm 3.24, scikit-learn 1.9, torch 2.15 */
        {"error: expected one of `!`, found `x`\n --> r.rs:1:17\n  |\n1 | fn main(){ lett x = 1; }\n\nerror: aborting due to 1 "
         "previous "
         "error\n",
         "error: expected one of `!`, found `x` (r.rs:1)", 1, LINEAGE_CAUSE_CODE},
        {"error[E0425]: cannot find value `x`\n --> src/main.rs:3:5\n\nerror: could not compile `cc` (bin \"cc\") due to 1 "
         "previous error\n",
         "error[E0425]: cannot find value `x` (main.rs:3)", 101, LINEAGE_CAUSE_CODE},
        {"[INFO] BUILD FAILURE\n[ERROR] /w/src/main/java/A.java:[1,27] cannot find symbol\n[ERROR] [Help 1] "
         "http://example.org/x\n",
         "cannot find symbol (A.java:1)", 1, LINEAGE_CAUSE_CODE},
        {"2026/11/29 06:18:16 bad batch size 0\nexit status 1\n", "bad batch size 0", 1, LINEAGE_CAUSE_CODE},
        {"step 1\ncan't open input file nofile\n", "can't open input file nofile", 1, LINEAGE_CAUSE_CODE},
        {"Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nValueError: Input X contains NaN.\n",
         "ValueError: Input X contains NaN. (t.py:1)", 1, LINEAGE_CAUSE_CODE},
        {"Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nRuntimeError: DataLoader worker (pid 7) is "
         "killed by "
         "signal: Killed. \n",
         "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. (t.py:1)", 1, LINEAGE_CAUSE_UNKNOWN},
        {"", "", 1, LINEAGE_CAUSE_UNKNOWN},
        {"Traceback (most recent call last):\n  File \"x.py\", line 3, in f\n    cut off", "", 1, LINEAGE_CAUSE_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trial_outcome outcome = read_text(cases[i].text, strlen(cases[i].text), cases[i].exit_status);
        if (strcmp(outcome.evidence, cases[i].evidence) != 0 || outcome.cause != cases[i].cause)
            fail_msg("'%s' gives '%s' (%d)", cases[i].text, outcome.evidence, (int)outcome.cause);
    }
}

/* What the program handled long ago is not the reason of its end, whatever it said then. */
static void an_old_report_is_not_the_reason(void **state)
{
    static const struct {
        const char *old, *end, *evidence;
    } cases[] = {
        {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    import flash_attn\n"
         "ModuleNotFoundError: No module named 'flash_attn'\nusing the slow path\n",
         "assert failed: rows > 0\n", "assert failed: rows > 0"},
        {"Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nValueError: optional cache is broken\n",
         "ERROR: dataset has no rows left\n", "ERROR: dataset has no rows left"},
        {"CUDA out of memory, halving the batch\n", "", ""},
        {"panic: no cache\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/a.go:6 +0xab\n", "fatal error: no rows\n",
         "fatal error: no rows"},
    };
    char text[65536];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = (size_t)sprintf(text, "%s", cases[i].old);
        for (int k = 0; k < 1500; k++)
            n += (size_t)sprintf(text + n, "at the row %d\n", k);
        n += (size_t)sprintf(text + n, "%s", cases[i].end);
        const struct trial_outcome outcome = read_text(text, n, 1);
        assert_string_equal(outcome.evidence, cases[i].evidence);
        assert_int_equal(outcome.cause, *cases[i].evidence ? LINEAGE_CAUSE_CODE : LINEAGE_CAUSE_UNKNOWN);
        assert_false(outcome.lacks);
    }
}

/* fixtures/cases/tables/failures.json has what programs printed, with their versions, and what is recorded. */
static void programs_are_read_as_the_table_says(void **state)
{
    json_error_t error;
    json_t *table = json_load_file(FIXTURES_DIR "/cases/tables/failures.json", 0, &error), *item, *line;
    size_t i, k, bad = 0;
    (void)state;
    assert_true(json_array_size(table) > 120);
    json_array_foreach(table, i, item) {
        char text[1 << 16] = "";
        size_t n = 0;
        json_array_foreach(json_object_get(item, "output"), k, line)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", json_string_value(line));
        struct trial_outcome outcome = read_text(text, n, (int)json_integer_value(json_object_get(item, "exit_status")));
        bool lacks = strcmp(json_string_value(json_object_get(item, "status")), "harness_abort") == 0;
        char evidence[TRIAL_EVIDENCE_MAX];
        snprintf(evidence, sizeof evidence, "%s", outcome.evidence);
        for (char *c = evidence; *c; c++)
            *c = *c == ';' ? ',' : *c; /* as in notes */
        if (outcome.lacks == lacks && strcmp(evidence, json_string_value(json_object_get(item, "evidence"))) == 0 &&
            strcmp(lineage_cause_name(outcome.cause), json_string_value(json_object_get(item, "cause"))) == 0)
            continue;
        print_error("%s: '%s', cause %s\n", json_string_value(json_object_get(item, "name")), outcome.evidence,
                    lineage_cause_name(outcome.cause));
        bad++;
    }
    json_decref(table);
    assert_int_equal(bad, 0);
}

/* Messages that resemble a refusal of the machine or of a service, in programs whose setting or own server failed. */
static void ordinary_errors_are_no_refusals(void **state)
{
#define T "Traceback (most recent call last):\n  File \"/w/train.py\", line 9, in <module>\n    main()\n"
    static const struct {
        const char *text;
        enum lineage_cause cause;
    } cases[] = {
        {T "cvxpy.error.SolverError: The solver OSQP cannot solve the problem at lr=3.\n", LINEAGE_CAUSE_CODE},
        {T "openai.InternalServerError: Error code: 500 - {'error': {'message': 'CUDA out of memory. Tried to allocate 2.00 "
           "GiB'}}\n",
         LINEAGE_CAUSE_MEMORY},
        {T "openai.RateLimitError: Error code: 429 - {'error': {'message': 'CUDA out of memory'}}\n", LINEAGE_CAUSE_MEMORY},
        {T "requests.exceptions.HTTPError: 500 Server Error: Logits contain NaN for url: http://localhost:8000/v1/completions\n",
         LINEAGE_CAUSE_DIVERGENCE},
        {T "requests.exceptions.HTTPError: 500 Server Error: Internal Server Error for url: http://scores.example.org/v1\n",
         LINEAGE_CAUSE_CODE},
        {T "huggingface_hub.errors.RepositoryNotFoundError: 401 Client Error: Unauthorized for url: "
           "https://huggingface.co/api/models/gpt22\n",
         LINEAGE_CAUSE_CODE},
        {T "omegaconf.errors.ReadonlyConfigError: Cannot change read-only config container\n", LINEAGE_CAUSE_CODE},
        {T "ValueError: Cannot write binary data to text file: open it with mode 'wb'\n", LINEAGE_CAUSE_CODE},
        {T "AssertionError: wrote only 3 of 10 bytes of the bitstream\n", LINEAGE_CAUSE_CODE},
        {T "AssertionError: step 40: pseudo-label contains NaN\n", LINEAGE_CAUSE_DIVERGENCE},
        {"requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://images.example.org/17.jpg\nskipped 1 of "
         "4000 images\nscore of the model is below the required floor: invalid\n",
         LINEAGE_CAUSE_CODE},
        {"sqlite3.OperationalError: database is locked\nwaiting\nFAILED: accuracy\n", LINEAGE_CAUSE_CODE},
        {"gymnasium.error.DependencyNotInstalled: MoviePy is not installed, run `pip install moviepy`\nno video is "
         "recorded\nRuntimeError: return below the floor\n",
         LINEAGE_CAUSE_CODE},
        {"PyTorch was not found or an older version is installed. Models won't be available\nValueError: no rows\n",
         LINEAGE_CAUSE_CODE},
        {"[LightGBM] [Fatal] CUDA Tree Learner was not enabled in this build.\ntrying the cpu\nValueError: no rows\n",
         LINEAGE_CAUSE_CODE},
        {"No idea what 'spam' means, it is left out\nValueError: no rows\n", LINEAGE_CAUSE_CODE},
        {"[in#0 @ 0x1] Error opening input: Input/output error\nError opening input file clip.mp4: Input/output error\n",
         LINEAGE_CAUSE_UNKNOWN},
        {T "openai.RateLimitError: Error code: 429 - {}\nthe judge is left out\nFAILED: accuracy\n", LINEAGE_CAUSE_CODE},
        {T "urllib.error.HTTPError: HTTP Error 503: Service Unavailable\n", LINEAGE_CAUSE_CODE},
        {"epoch 3 loss nan\n" T "pandas.errors.IntCastingNaNError: Cannot convert non-finite values (NA or inf) to integer\n",
         LINEAGE_CAUSE_DIVERGENCE},
        {T "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: http://localhost:8000/v1\n",
         LINEAGE_CAUSE_CODE},
        {T "ValueError: array must not contain infs or NaNs\n", LINEAGE_CAUSE_CODE},
    };
#undef T
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct trial_outcome outcome = read_text(cases[i].text, strlen(cases[i].text), 1);
        if (outcome.cause != cases[i].cause || outcome.lacks)
            fail_msg("%s: cause %s%s", cases[i].text, lineage_cause_name(outcome.cause), outcome.lacks ? ", lacks" : "");
    }
}

/* A traceback is read through the prefix that a launcher or a log writes before each line. */
static void prefixes_are_read_through(void **state)
{
    static const char *const lines[] = {"Traceback (most recent call last):", "  File \"/w/train.py\", line 5, in <module>",
                                        "    raise ValueError(x)", "ValueError: no rows"};
    static const char *const prefixes[] = {"[rank0]: ",
                                           "[default1]:",
                                           "[1,0]<stderr>:",
                                           "[1,0]<stderr>: ",
                                           "(train pid=12) ",
                                           "\033[36m(train pid=12, ip=10.0.0.1)\033[0m ",
                                           "0: ",
                                           " 3: ",
                                           "trainer-1  | ",
                                           "trainer-1 | ",
                                           "0.1\t",
                                           "2026-11-28 09:39:29,123 node1 ERROR ",
                                           "[0] ",
                                           "  | ",
                                           "    | ",
                                           "node0 09:12:01 python[7]: "};
    (void)state;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        char text[1000] = "";
        for (size_t k = 0; k < 4; k++)
            sprintf(text + strlen(text), "%s%s\n%s", prefixes[i], lines[k], k == 1 ? "[rank7]: loss 3\n" : "");
        struct trial_outcome outcome = read_text(text, strlen(text), 1);
        if (strcmp(outcome.evidence, "ValueError: no rows (train.py:5)") != 0)
            fail_msg("prefix '%s': '%s'", prefixes[i], outcome.evidence);
    }
}

/* Hostile output is bounded, and costs no more than its length. */
static void hostile_output_is_bounded(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    enum { SIZE = 1 << 14 }; /* its strstr() reads all of the text, wherever the word is */
#else
    enum { SIZE = 1 << 16 };
#endif
    static const char *const pieces[] = {"\n",         "a.b:1",          "  File \"",
                                         "\", line 9", "x.y:1: error: ", "panic: ",
                                         "\033[",      "panicked at ",   "Traceback (most recent call last)\n",
                                         "\n    at ",  "Error",          "SUMMARY: "};
    (void)state;
    char *text = malloc(SIZE);
    assert_non_null(text);
    for (size_t seed = 0; seed < 200; seed++) {
        size_t n = 0, at = seed;
        while (n + 64 < SIZE) {
            at = at * 6364136223846793005u + 1442695040888963407u;
            const char *piece = seed < 12 ? pieces[seed] : pieces[(at >> 33) % (sizeof pieces / sizeof *pieces)];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        memset(text, 0, 3); /* NUL bytes do not end the text */
        struct trial_outcome outcome = read_text(text, n, 1);
        assert_true(strlen(outcome.evidence) < sizeof outcome.evidence && !strchr(outcome.evidence, '\n'));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_language_names_its_error),  cmocka_unit_test(programs_are_read_as_the_table_says),
        cmocka_unit_test(ordinary_errors_are_no_refusals), cmocka_unit_test(an_old_report_is_not_the_reason),
        cmocka_unit_test(prefixes_are_read_through),       cmocka_unit_test(hostile_output_is_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
