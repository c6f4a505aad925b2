/*
 * Tests what is found by comparing programs: settings in each language, lines by function, diffs, commands, and trials
 * of a store; that moving code is not a change; and that hostile files cost no more than their length.
 */
#include "support/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/ideas.h>
#include <lineage/measured.h>
#include <lineage/query.h>

#include "internal.h"
#include "format/arena.h"
#include "mirror/mirror.h"
#include "mirror/statement.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

/* ---- two files ---- */

static void put(const char *dir, const char *name, const char *text)
{
    char *path = join(dir, name);
    write_file(path, text, strlen(text));
    free(path);
}

static void measure(struct lineage_measured *measured, const char *from, const char *to)
{
    int a = open(from, O_RDONLY | O_DIRECTORY), b = open(to, O_RDONLY | O_DIRECTORY);
    assert_true(a >= 0 && b >= 0);
    assert_int_equal(lineage_measure_directories(measured, a, b, &err), LINEAGE_OK);
    close(a);
    close(b);
}

/* "name: from -> to; ..." of all changes, valid until the next call. */
static const char *changes_text(const struct lineage_measured *measured)
{
    static char text[4096];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < measured->n_changes; i++) {
        const struct lineage_measured_change *c = &measured->changes[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s: %s -> %s", i ? "; " : "", c->name, c->from ? c->from : "new",
                              c->to);
        assert_true(n < sizeof text);
    }
    return text;
}

/* "file heading +a -r; ..." of the code, with = for the sum of a file. */
static const char *code_text(const struct lineage_measured *measured)
{
    static char text[4096];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < measured->n_lines; i++) {
        const struct lineage_measured_lines *c = &measured->lines[i];
        const char *kind = c->kind == LINEAGE_LINES_BINARY ? " binary" : c->kind == LINEAGE_LINES_LARGE ? " large" : "";
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s %s +%zu -%zu%s", i ? "; " : "", c->file,
                              c->heading ? c->heading : "=", c->added, c->removed, kind);
        assert_true(n < sizeof text);
    }
    return text;
}

static const char *compare(const char *name, const char *before, const char *after)
{
    char *dir = make_dir(), *from = join(dir, "from"), *to = join(dir, "to");
    struct lineage_measured measured;
    assert_int_equal(mkdir(from, 0700), 0);
    assert_int_equal(mkdir(to, 0700), 0);
    put(from, name, before);
    put(to, name, after);
    measure(&measured, from, to);
    const char *text = changes_text(&measured);
    lineage_measured_release(&measured);
    free(from);
    free(to);
    remove_dir(dir);
    return text;
}

struct pair {
    const char *file, *before, *after, *changes;
};

static void check_pairs(const struct pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *found = compare(pairs[i].file, pairs[i].before, pairs[i].after);
        if (strcmp(found, pairs[i].changes) != 0)
            fail_msg("%s\n--- before\n%s\n--- after\n%s\n--- expected\n%s\n--- found\n%s", pairs[i].file, pairs[i].before,
                     pairs[i].after, pairs[i].changes, found);
    }
}
#define CHECK_PAIRS(pairs) check_pairs(pairs, sizeof pairs / sizeof *pairs)

static void settings_of_python_are_found(void **state)
{
    static const struct pair pairs[] = {
        {"t.py", "x = 3e-4\n", "x = 1e-3\n", "x: 3e-4 -> 1e-3"},
        {"t.py", "x = 3e-4\n", "x = 0.0003\n", ""},
        {"t.py", "n = 786_432\n", "n = 2**20\n", "n: 786432 -> 2^20"},
        {"t.py", "n = 8 * 1024\n", "n = 1e4\n", "n: 8192 -> 1e4"},
        {"t.py", "w = -1e-4\n", "w = 1/3\n", "w: -1e-4 -> 1/3"},
        {"t.py", "opt = 'adam'\n", "opt = \"sgd\"\n", "opt: adam -> sgd"},
        {"t.py", "fused = True\n", "fused = False\n", "fused: true -> false"},
        {"t.py", "b = (0.9, 0.95)\n", "b = (0.9, 0.99)\n", "b: (0.9, 0.95) -> (0.9, 0.99)"},
        {"t.py", "a, b = 1, 2\n", "a, b = 1, 3\n", "b: 2 -> 3"},
        {"t.py", "a = b = 1\n", "a = b = 2\n", "b: 1 -> 2"},
        {"t.py", "lr: float = 0.1\n", "lr: float = 0.2\n", "lr: 0.1 -> 0.2"},
        {"t.py", "class H:\n    lr = 0.1\n", "class H:\n    lr = 0.2\n", "lr: 0.1 -> 0.2"},
        {"t.py", "class H:\n    lr = float(os.environ.get('LR', 0.02))\n",
         "class H:\n    lr = float(os.environ.get('LR', \"0.03\"))\n", "lr: 0.02 -> 0.03"},
        {"t.py", "lr = float(os.environ.get('LR') or 0.02)\n", "lr = float(os.environ.get('LR') or 0.03)\n", "lr: 0.02 -> 0.03"},
        {"t.py", "f(os.getenv('LR', 0.02))\n", "f(os.getenv('LR', 0.03))\n", "LR: 0.02 -> 0.03"},
        {"t.py", "os.environ['OMP'] = '1'\n", "os.environ['OMP'] = '2'\n", "OMP: 1 -> 2"},
        {"t.py", "os.environ.setdefault('OMP', '1')\n", "os.environ.setdefault('OMP', '2')\n", "OMP: 1 -> 2"},
        {"t.py", "p.add_argument('-l', '--lr', type=float, default=3e-4, help='rate')\n",
         "p.add_argument('-l', '--lr', type=float, default=1e-3, help='the rate')\n", "lr: 3e-4 -> 1e-3"},
        {"t.py", "p.add_argument('--fast', action='store_true')\n", "p.add_argument('--fast', action='store_false')\n",
         "fast: false -> true"},
        {"t.py", "@click.option('--lr', default=0.1)\ndef f(lr): pass\n", "@click.option('--lr', default=0.2)\ndef f(lr): pass\n",
         "lr: 0.1 -> 0.2"},
        {"t.py", "flags.DEFINE_float('lr', 0.1, 'rate')\n", "flags.DEFINE_float('lr', 0.2, 'rate')\n", "lr: 0.1 -> 0.2"},
        {"t.py", "class C:\n    lr: float = field(default=1)\n", "class C:\n    lr: float = field(default=2)\n", "lr: 1 -> 2"},
        {"t.py", "def f(a, lr=1, *, wd: float = 2): pass\n", "def f(a, lr=3, *, wd: float = 4): pass\n",
         "lr: 1 -> 3; wd: 2 -> 4"},
        {"t.py", "o = AdamW(p, lr=0.1,\n  betas=(0.9, 0.95))\n", "o = AdamW(p, lr=0.1,\n  betas=(0.9, 0.99), eps=1e-6)\n",
         "AdamW.betas: (0.9, 0.95) -> (0.9, 0.99); AdamW.eps: new -> 1e-6"},
        {"t.py", "C = {'lr': 0.1, 'opt': {'wd': 1}}\n", "C = {'lr': 0.2, 'opt': {'wd': 2}, 'n': 3}\n",
         "lr: 0.1 -> 0.2; opt.wd: 1 -> 2; n: new -> 3"},
        {"t.py", "c = dict(lr=0.1)\n", "c = dict(lr=0.2)\n", "lr: 0.1 -> 0.2"},
        {"t.py", "self.drop = nn.Dropout(0.1)\n", "self.drop = nn.Dropout(0.2)\n", "drop: 0.1 -> 0.2"},
        {"t.py", "clip_(p, 1.0)\n", "clip_(p, 0.5)\n", "clip_: 1.0 -> 0.5"},
        {"t.py", "y = 0.5 * x + 1\n", "y = 0.7 * x + 1\n", "y: 0.5 -> 0.7"},
        {"t.py", "x *= 0.5\n", "x *= 0.6\n", "x: 0.5 -> 0.6"},
        {"t.py", "def warm(s):\n    return 0.1\n", "def warm(s):\n    return 0.2\n", "warm: 0.1 -> 0.2"},
        {"t.py", "for epoch in range(3):\n    pass\n", "for epoch in range(4):\n    pass\n", "epoch: 3 -> 4"},
        {"t.py", "if step > 10: lr = 1\n", "if step > 20: lr = 2\n", "step: 10 -> 20; lr: 1 -> 2"},
        {"t.py", "config.lr = 0.1\n", "config.lr = 0.1\nconfig.wd = 0.2\n", "config.wd: new -> 0.2"},
        {"t.py", "if __name__ == '__main__':\n    lr = 1\n", "if __name__ == '__main__':\n    lr = 1\n    wd = 2\n",
         "wd: new -> 2"},
        {"t.py", "from a import b; lr = 1\n", "from a import b; lr = 2\n", "lr: 1 -> 2"},
        {"#t", "x = 1\n", "x = 2\n", ""},
        {"t", "#!/usr/bin/env python3\nx = 1\n", "#!/usr/bin/env python3\nx = 2\n", "x: 1 -> 2"},
        {"t.py", "net = nn.Sequential(nn.Linear(10,4), nn.Dropout(0.3))\n",
         "net = nn.Sequential(nn.Linear(10,8), nn.Dropout(0.5))\n", "Linear: 4 -> 8; Dropout: 0.3 -> 0.5"},
        {"t.py", "callbacks=[LR(0.1)]\n", "callbacks=[LR(0.2)]\n", "LR: 0.1 -> 0.2"},
        {"t.py",
         "p.add_argument('lr', default=0.1)\np.add_argument('n', type=int, default=int(1e3))\np.add_argument('--wd', "
         "default=float(0.1))\np.add_argument('--x', default=float(os.environ.get('X', 3)))\n",
         "p.add_argument('lr', default=0.2)\np.add_argument('n', type=int, default=int(1e4))\np.add_argument('--wd', "
         "default=float(0.2))\np.add_argument('--x', default=float(os.environ.get('X', 4)))\n",
         "lr: 0.1 -> 0.2; n: 1e3 -> 1e4; wd: 0.1 -> 0.2; x: 3 -> 4"},
        {"t.py", "x = [1, 2, 3]\ny = f(a=(1, 2))\n", "x = [\n    1,\n    2,\n    3,\n]\ny = f(\n    a=(1, 2),\n)\n", ""},
        {"t.py", "if lr == 0.1 and n == 3:\n    pass\n", "if lr == 0.1 and n == 4:\n    pass\n", "n: 3 -> 4"},
        {"t.py", "opt = dict(betas=(0.9, 0.95), lr=0.1)\n", "opt = dict(betas=(0.9, 0.99), lr=0.2)\n",
         "betas: (0.9, 0.95) -> (0.9, 0.99); lr: 0.1 -> 0.2"},
        {"t.py", "wandb.init(config=dict(lr=0.1))\nwandb.init(config={'wd': 1})\n",
         "wandb.init(config=dict(lr=0.2))\nwandb.init(config={'wd': 2})\n", "lr: 0.1 -> 0.2; wd: 1 -> 2"},
        {"t.py", "class A:\n    x: list = field(default_factory=lambda: [1, 2])\n",
         "class A:\n    x: list = field(default_factory=lambda: [1, 3])\n", "field.default_factory: 2 -> 3"},
        {"t.py", "app.train(n=3)\ntrain(n=3)\n", "app.train(n=4)\ntrain(n=4)\n", "train.n: 3 -> 4; train.n: 3 -> 4"},
        {"t.py",
         "class A:\n    x: float = Field(0.1, description='old 1')\n    y: int = field(default=3, metadata={'help': 'a'})\n",
         "class A:\n    x: float = Field(0.1, description='new 2')\n    y: int = field(default=3, metadata={'help': 'b'})\n", ""},
        {"t.py", "x = 3--2\ny = 2*3\n", "x = 3--3\ny = 2*4\n", "x: 2 -> 3; y: 6 -> 8"},
        {"t.py", "x = ('a'\n 'b')\ny = 1\n", "x = ('a'\n 'c')\ny = 2\n", "y: 1 -> 2"},
        {"t.py", "x = 10L\n", "x = 11L\n", ""},
    };
    (void)state;
    CHECK_PAIRS(pairs);
}

/* Neither moved lines nor code that is new as a whole change a setting. */
static void what_is_not_a_change(void **state)
{
    static const struct pair pairs[] = {
        {"t.py", "a = 1\nb = 2\n", "# first\n\nb = 2\n\na = 1\n", ""},
        {"t.py", "lr = 1\n", "class H:\n    lr = 1\n", ""},
        {"t.py", "lr = 1\n", "class H:\n    lr = 2\n", "lr: 1 -> 2"},
        {"t.py", "def f():\n    x = 1\n", "def f():\n    x = 1\n    count = 0\n    g(3)\n", ""},
        {"t.py", "x = 1\n", "x = 1\nif debug:\n    y = 2\n", ""},
        {"t.py", "def f(a): pass\n", "def f(a, b=None): pass\n", ""},
        {"t.py", "x = 1\nx = 1\n", "x = 1\nx = 2\nx = 1\n", ""},
        {"t.py", "x = [1, 2]\n", "x = load()\n", ""},
        {"t.py", "print('step 1', 3)\nraise E('at 5')\n", "print('step 2', 4)\nraise E('at 6')\n", ""},
        {"t.py", "s = f'{x} 1'\nd = '''a\nlr = 1\n'''\n# lr = 1\n", "s = f'{x} 2'\nd = '''a\nlr = 2\n'''\n# lr = 2\n", ""},
        {"t.py", "a = x[0]\n", "a = x[1]\n", ""},
        {"t.py", "y = 0.5 * x\n", "y = 0.5 * z + 1\n", ""},
        {"t.py", "g(a, b)\n", "g(a, b, 3)\n", ""},
        {"r.json", "{\"loss\": 3.2812345, \"step\": 100}\n", "{\"loss\": 3.1912345, \"step\": 101}\n", ""},
        {"t.txt", "x = 1\n", "x = 2\n", ""},
    };
    (void)state;
    CHECK_PAIRS(pairs);
}

static void settings_of_c_are_found(void **state)
{
    static const struct pair pairs[] = {
        {"t.c", "#define LR 3e-4f /* rate */\n#  define N (1 << 10)\n#define F(x) 1\n",
         "#define LR 4e-4f\n#  define N (1 << 11)\n#define F(x) 2\n", "LR: 3e-4 -> 4e-4; N: 1024 -> 2048"},
        {"t.cu", "static const double wd = 0.1, eps = 1e-8;\n", "static const double wd = 0.2, eps = 1e-7;\n",
         "wd: 0.1 -> 0.2; eps: 1e-8 -> 1e-7"},
        {"t.h", "enum { A = 1, B = 2 };\n", "enum { A = 1, B = 3 };\n", "B: 2 -> 3"},
        {"t.c", "struct c d = { .lr = 0.1f, .n = 3 };\n", "struct c d = { .lr = 0.2f, .n = 4, .m = 5 };\n",
         "lr: 0.1 -> 0.2; n: 3 -> 4; m: new -> 5"},
        {"t.c", "int t[] = {1, 2, 3};\n", "int t[] = {1, 2, 4};\n", "t: {1, 2, 3} -> {1, 2, 4}"},
        {"t.c",
         "int f(int k)\n{\n    c->lr = 0.5;\n    for (int i = 0; i < 10; i++)\n        x = x * 0.9;\n    return x * 2;\n}\n",
         "int f(int k)\n{\n    int q = 3;\n    c->lr = 0.6;\n    for (int i = 0; i < 20; i++)\n        x = x * 0.8;\n    return "
         "x * 3;\n}\n",
         "c.lr: 0.5 -> 0.6; i: 10 -> 20; x: 0.9 -> 0.8; x: 2 -> 3"},
        {"t.cc", "namespace n { class A { int x = 1; }; }\n", "namespace n { class A { int x = 2; int y = 3; }; }\n",
         "x: 1 -> 2; y: new -> 3"},
        {"t.c", "int a = 1; // int a = 2;\n", "int a = 1; /* int a = 3; */\n", ""},
        {"t.c", "double a = 1.0/3;\n#define B (1.0/3)\n", "double a = 1.0/4;\n#define B (2.0/3)\n",
         "a: 1.0/3 -> 1.0/4; B: 0.3333333333333333 -> 0.6666666666666666"},
        {"t.c", "int a = 1/3;\nint b = 7/2;\nint c = 7/2*2;\n", "int a = 1/4;\nint b = 9/2;\nint c = 9/2*2;\n",
         "a: 1/3 -> 1/4; b: 7/2 -> 9/2; c: 7/2*2 -> 9/2*2"},
        {"t.c", "int a = 1 << 2+3;\nint b = 1 << 4;\n", "int a = 1 << 2+4;\nint b = 1 << 5;\n", "a: 32 -> 64; b: 16 -> 32"},
        {"t.c", "int m = 0777;\n#define M 0644\n", "int m = 0755;\n#define M 0600\n", ""},
        {"t.c", "int m = 3 + 1 << 2;\n", "int m = 3 + 1 << 3;\n", "m: 16 -> 32"},
        {"t.cpp", "class A { public: int n = 3; private: double w = 0.1; };\n",
         "class A { public: int n = 4; private: double w = 0.2; };\n", "n: 3 -> 4; w: 0.1 -> 0.2"},
        {"t.c", "void f() { switch (x) { case 2: y = 2; break; default: z = 3; } out: q = 4; }\n",
         "void f() { switch (x) { case 2: y = 3; break; default: z = 4; } out: q = 5; }\n", "y: 2 -> 3; z: 3 -> 4; q: 4 -> 5"},
        {"t.c", "double x = 0x1p-3;\n", "double x = 0x1p-4;\n", ""},
    };
    (void)state;
    CHECK_PAIRS(pairs);
}

static void settings_of_shell_are_found(void **state)
{
    static const struct pair pairs[] = {
        {"t.sh", "A=1\nexport B='2' C=3\nlocal D=4\n", "A=2\nexport B='3' C=3\nlocal D=5\n", "A: 1 -> 2; B: 2 -> 3; D: 4 -> 5"},
        {"t.sh", "A=${A:-1}\n: \"${B:=2}\"\necho ${C-x}\n", "A=${A:-2}\n: \"${B:=3}\"\necho ${C-y}\n",
         "A: 1 -> 2; B: 2 -> 3; C: x -> y"},
        {"t.sh", "python t.py --lr 3e-4 \\\n  --wd=0.1 -n 4 opt.lr=1 +a.b=3 --neg -0.5 && echo\n",
         "python t.py --lr 1e-3 \\\n  --wd=0.2 -n 8 opt.lr=2 +a.b=4 --neg -0.6 --fast && echo\n",
         "lr: 3e-4 -> 1e-3; wd: 0.1 -> 0.2; -n: 4 -> 8; opt.lr: 1 -> 2; a.b: 3 -> 4; neg: -0.5 -> -0.6; fast: new -> true"},
        {"t.sh", "cat <<E\nLR=1\nE\nLR=2\n", "cat <<E\nLR=3\nE\nLR=4\n", "LR: 2 -> 4"},
        {"t.sh", "A=$X\npython t.py --x \"$A\" # --y 1\n", "A=$Y\npython t.py --x \"$B\" # --y 2\n", ""},
        {"t", "#!/bin/sh\nsh -c 'python t.py --lr 1'\n", "#!/bin/sh\nsh -c 'python t.py --lr 2'\n", "lr: 1 -> 2"},
        {"t.sh", "echo don\\'t\necho 'use lr=0.5 now'\nLR=1\npython t.py --n 3\n",
         "echo don\\'t\necho 'use lr=0.6 now'\nLR=2\npython t.py --n 4\n", "LR: 1 -> 2; n: 3 -> 4"},
        {"t.sh", "cat <<\\EOF\nlr=1\nEOF\nwd=1\n", "cat <<\\EOF\nlr=2\nEOF\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "cat <<EOF-1\nlr=1\nEOF-1\nwd=1\n", "cat <<EOF-1\nlr=2\nEOF-1\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "cat <<EOF.x\nlr=1\nEOF.x\nwd=1\n", "cat <<EOF.x\nlr=2\nEOF.x\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "cat <<\"END-1\"\nlr=1\nEND-1\nwd=1\n", "cat <<\"END-1\"\nlr=2\nEND-1\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "cat <<'A B'\nlr=1\nA B\nwd=1\n", "cat <<'A B'\nlr=2\nA B\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "cat <<A <<B\nlr=1\nA\nlr=2\nB\nwd=1\n", "cat <<A <<B\nlr=2\nA\nlr=3\nB\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "x=$((a<<b))\nwd=1\n", "x=$((a<<b))\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "x=$((1 << shift))\nwd=1\nlr=2\n", "x=$((1 << shift))\nwd=2\nlr=3\n", "wd: 1 -> 2; lr: 2 -> 3"},
        {"t.sh", "cat <<<EOF\nwd=1\n", "cat <<<EOF\nwd=2\n", "wd: 1 -> 2"},
        {"t.sh", "PATH+=:x\nA=1\n", "PATH+=:y\nA=2\n", "A: 1 -> 2"},
    };
    (void)state;
    CHECK_PAIRS(pairs);
}

static void settings_of_configuration_files_are_found(void **state)
{
    static const struct pair pairs[] = {
        {"t.yaml", "opt:\n  lr: 3e-4 # rate\n  betas: [0.9, 0.95]\n  m: {a: 1, b: x}\n",
         "opt:\n  lr: 1e-3 # rate\n  betas: [0.9, 0.99]\n  m: {a: 2, b: x}\n",
         "opt.lr: 3e-4 -> 1e-3; opt.betas: [0.9, 0.95] -> [0.9, 0.99]; opt.m.a: 1 -> 2"},
        {"t.yml", "groups:\n- name: a\n  wd: 0.1\n- name: b\n  wd: 0.2\n",
         "groups:\n- name: a\n  wd: 0.1\n- name: b\n  wd: 0.3\n", "groups.wd: 0.2 -> 0.3"},
        {"t.yaml", "text: |\n  lr: 1\n  x\nlr: !!float 1\n", "text: |\n  lr: 2\n  x\nlr: !!float 3\n", "lr: 1 -> 3"},
        {"t.yaml", "a:\n  b: 1\n", "a:\n  c: 2\n  b: 1\n", "a.c: new -> 2"},
        {"t.yaml", "d: 2024-01-02\nm: don't # c\nk-x: a, b\nn: a#b (c\no: 1\n",
         "d: 2024-01-03\nm: don't # d\nk-x: a, c\nn: a#c (c\no: 2\n",
         "d: 2024-01-02 -> 2024-01-03; k-x: a, b -> a, c; n: a#b (c -> a#c (c; o: 1 -> 2"},
        {"t.yaml", "\"q k\": &x 1\nl: [1, 2,\n  3]\nb: {x: hello you, a-b: 1}\n",
         "\"q k\": &x 2\nl: [1, 2,\n  4]\nb: {x: hello me, a-b: 2}\n",
         "q k: 1 -> 2; l: [1, 2, 3] -> [1, 2, 4]; b.x: hello you -> hello me; b.a-b: 1 -> 2"},
        {"t.toml", "t = {a = 1, b-c = 'x'}\n[[g]]\nr = [{n = 1}]\n", "t = {a = 2, b-c = 'y'}\n[[g]]\nr = [{n = 2}]\n",
         "t.a: 1 -> 2; t.b-c: x -> y; g.r.n: 1 -> 2"},
        {"t.ini", "a = 0.9, 0.95\nu: http://x/1 # c\n", "a = 0.9, 0.99\nu: http://x/2\n",
         "a: 0.9, 0.95 -> 0.9, 0.99; u: http://x/1 -> http://x/2"},
        {"t.json", "{\"p\": \"a\\\\b\", \"d\": [1, {\"e\": null}], \"t\": [[1, 2], [3]], /* x */ \"z\": -1}\n",
         "{\"p\": \"a\\\\c\", \"d\": [2, {\"e\": 3}], \"t\": [[1, 2], [4]], /* y */ \"z\": -2}\n",
         "p: a\\\\b -> a\\\\c; d.e: null -> 3; t: [[1, 2], [3]] -> [[1, 2], [4]]; z: -1 -> -2"},
        {"t.json", "{\"t\": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}\n",
         "{\"t\": [2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}\n", ""},
        {"t.yaml", "f: {\n  a: 1,\n  b: 2\n}\ng: 3\n", "f: {\n  a: 1,\n  b: 4\n}\ng: 5\n", "f.b: 2 -> 4; g: 3 -> 5"},
        {"t.yaml", "url: http://a:80/x\n", "url: http://b:80/x\n", "url: http://a:80/x -> http://b:80/x"},
        {"t.toml", "lr = 3e-4\n[a.b]\nn = 1_000\nl = [1,\n 2]\ns = \"\"\"\nlr = 1\n\"\"\"\n[[c]]\nx.y = 'q'\n",
         "lr = 4e-4\n[a.b]\nn = 2_000\nl = [1,\n 3]\ns = \"\"\"\nlr = 2\n\"\"\"\n[[c]]\nx.y = 'r'\n",
         "lr: 3e-4 -> 4e-4; a.b.n: 1000 -> 2000; a.b.l: [1, 2] -> [1, 3]; c.x.y: q -> r"},
        {"t.ini", "[s]\na = 1\nb: 2\n; a = 3\n", "[s]\na = 2\nb: 3\n; a = 4\n", "s.a: 1 -> 2; s.b: 2 -> 3"},
        {"t.json", "{\"lr\": 3e-4, \"o\": {\"b\": [0.9, 0.95], \"w\": [{\"n\": 1}]},\n // c\n \"f\": true}\n",
         "{\"lr\": 4e-4, \"o\": {\"b\": [0.9, 0.99], \"w\": [{\"n\": 2}]},\n // c\n \"f\": false}\n",
         "lr: 3e-4 -> 4e-4; o.b: [0.9, 0.95] -> [0.9, 0.99]; o.w.n: 1 -> 2; f: true -> false"},
        {"t.toml", "m = [\n [1, 2],\n [3, 4],\n]\nwd = 1\n", "m = [\n [1, 2],\n [3, 5],\n]\nwd = 2\n",
         "m: [[1, 2], [3, 4]] -> [[1, 2], [3, 5]]; wd: 1 -> 2"},
        {"t.toml", "m = [\n {n = 1},\n {n = 2},\n]\nwd = 1\n", "m = [\n {n = 1},\n {n = 3},\n]\nwd = 2\n",
         "m.n: 2 -> 3; wd: 1 -> 2"},
        {"t.toml", "a = [\n  \"--lr\", \"0.1\", # x = 1\n]\nwd = 1\n", "a = [\n  \"--lr\", \"0.1\", # x = 2\n]\nwd = 2\n",
         "wd: 1 -> 2"},
        {"t.yaml", "b: {a: 1,\n c: 3}\nd: 1\n", "b: {a: 1,\n c: 4}\nd: 2\n", "b.c: 3 -> 4; d: 1 -> 2"},
        {"t.yaml", "g:\n  - {lr: 3, n: 4}\n  - {lr: 4, n: 4}\n", "g:\n  - {lr: 3, n: 5}\n  - {lr: 4, n: 4}\n", "g.n: 4 -> 5"},
        {"t.yaml", "a: [0.9,0.95]\nb: [a]\n", "a: [0.9, 0.95]\nb: ['a']\n", ""},
        {"t.toml", "a = [0.9,0.95]\nb = [\"a\"]\n", "a = [\n  0.9,\n  0.95,\n]\nb = ['a']\n", ""},
        {"t.yaml", "a: b ; c\nd: 'don''t # x'\n", "a: b ; d\nd: 'don''t # y'\n",
         "a: b ; c -> b ; d; d: 'don''t # x' -> 'don''t # y'"},
        {"t.toml", "# say \"\"\" here\nlr = 1\n", "# say \"\"\" here\nlr = 2\n", "lr: 1 -> 2"},
        {"t.toml", "lr = 1 # say \"\"\" here\nwd = 1\n", "lr = 2 # say \"\"\" here\nwd = 2\n", "lr: 1 -> 2; wd: 1 -> 2"},
        {"t.yaml", "k: !!str |\n  lr: 1\nm: &a |\n  wd: 1\nz: 1\n", "k: !!str |\n  lr: 2\nm: &a |\n  wd: 2\nz: 2\n", "z: 1 -> 2"},
        {"t.toml", "[ s ]\nx = 1\n", "[ s ]\nx = 2\n", "s.x: 1 -> 2"},
        {"t.toml", "[\"a b\".c]\nx = 1\n", "[\"a b\".c]\nx = 2\n", "a b.c.x: 1 -> 2"},
        {"t.yaml", "x: 1e3f\ny: 10L\nz: 1.5f\n", "x: 2e3f\ny: 11L\nz: 1.6f\n", "x: 1e3f -> 2e3f; y: 10L -> 11L; z: 1.5f -> 1.6f"},
    };
    (void)state;
    CHECK_PAIRS(pairs);
}

/* ---- lines, and whole directories ---- */

static void lines_are_counted_by_function(void **state)
{
    char *dir = make_dir(), *from = join(dir, "from"), *to = join(dir, "to");
    struct lineage_measured measured;
    (void)state;
    assert_int_equal(mkdir(from, 0700), 0);
    assert_int_equal(mkdir(to, 0700), 0);
    put(from, "a.py", "import x\nclass G:\n    def f(self):\n        a()\n        b()\n    def g(self):\n        c()\n");
    put(to, "a.py",
        "import x\nimport y\nclass G:\n    def f(self):\n        a()\n        d()\n        b()\n    def g(self):\n        "
        "return\n");
    put(from, "equal.py", "def f(x):\n    x\n    return y\n\ndef g(x):\n    x\n    return y\n\ndef h(x):\n    x\n    return y\n");
    put(to, "equal.py", "def f(x):\n    x\n    return z\n\ndef g(x):\n    x\n    return y\n\ndef h(x):\n    x\n    return y\n");
    put(from, "gone.txt", "one\ntwo\n");
    put(to, "new.sh", "A=1\n");
    put(from, "same.py", "x = 1\n");
    put(to, "same.py", "x = 1\n");
    put(from, ".cache.py", "x = 1\n");
    put(to, ".cache.py", "x = 2\n");
    measure(&measured, from, to);
    assert_string_equal(code_text(&measured), "a.py = +3 -1; a.py  +1 -0; a.py G.f +1 -0; a.py G.g +1 -1; "
                                              "equal.py = +1 -1; equal.py f +1 -1; "
                                              "gone.txt = +0 -2; gone.txt  +0 -2; new.sh = +1 -0; new.sh  +1 -0");
    assert_int_equal(measured.n_changes, 0); /* everything in a new file is new */
    assert_false(measured.incomplete);
    lineage_measured_release(&measured);
    free(from);
    free(to);
    remove_dir(dir);
}

/* The number of lines agrees with the shortest edit, found by another way. */
static void the_shortest_difference_is_found(void **state)
{
    enum { LINES = 24 };
    (void)state;
    srand(7);
    for (int round = 0; round < 200; round++) {
        char a[4 * LINES + 1] = "", b[4 * LINES + 1] = "", *dir = make_dir();
        int table[LINES + 1][LINES + 1] = {{0}}, n = rand() % LINES, m = rand() % LINES;
        for (int i = 0; i < n; i++)
            sprintf(a + strlen(a), "%c\n", 'a' + rand() % 4);
        for (int i = 0; i < m; i++)
            sprintf(b + strlen(b), "%c\n", 'a' + rand() % 4);
        for (int i = n - 1; i >= 0; i--)
            for (int k = m - 1; k >= 0; k--)
                table[i][k] = a[2 * i] == b[2 * k]                ? table[i + 1][k + 1] + 1
                              : table[i + 1][k] > table[i][k + 1] ? table[i + 1][k]
                                                                  : table[i][k + 1];
        char *from = join(dir, "from"), *to = join(dir, "to");
        struct lineage_measured measured;
        assert_int_equal(mkdir(from, 0700), 0);
        assert_int_equal(mkdir(to, 0700), 0);
        put(from, "t.txt", a);
        put(to, "t.txt", b);
        measure(&measured, from, to);
        size_t added = measured.n_lines ? measured.lines[0].added : 0, removed = measured.n_lines ? measured.lines[0].removed : 0;
        assert_int_equal(added, m - table[0][0]);
        assert_int_equal(removed, n - table[0][0]);
        lineage_measured_release(&measured);
        free(from);
        free(to);
        remove_dir(dir);
    }
}

static void a_renamed_program_is_compared(void **state)
{
    char *dir = make_dir(), *from = join(dir, "from"), *to = join(dir, "to"), *sub = join(dir, "to/src");
    struct lineage_measured measured;
    (void)state;
    assert_int_equal(mkdir(from, 0700), 0);
    assert_int_equal(mkdir(to, 0700), 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    put(from, "train.py", "lr = 1\n");
    put(to, "train_v2.py", "lr = 2\n");
    put(from, "conf.yaml", "wd: 1\n");
    put(sub, "conf.yaml", "wd: 2\n");
    measure(&measured, from, to);
    assert_string_equal(changes_text(&measured), "wd: 1 -> 2; lr: 1 -> 2");
    assert_string_equal(measured.changes[0].file, "src/conf.yaml");
    lineage_measured_release(&measured);
    free(from);
    free(to);
    free(sub);
    remove_dir(dir);
}

static void hostile_directories_are_survived(void **state)
{
    char *dir = make_dir(), *from = join(dir, "from"), *to = join(dir, "to"), *path;
    struct lineage_measured measured;
    (void)state;
    assert_int_equal(mkdir(from, 0700), 0);
    assert_int_equal(mkdir(to, 0700), 0);
    put(dir, "outside.py", "x = 1\n");
    put(from, "link.py", "x = 2\n");
    path = join(to, "link.py");
    assert_int_equal(symlink("../outside.py", path), 0);
    free(path);
    path = join(to, "loop");
    assert_int_equal(symlink("..", path), 0);
    free(path);
    path = join(to, "pipe.py");
    assert_int_equal(mkfifo(path, 0600), 0);
    free(path);
    put(from, "pipe.py", "x = 3\n");
    put(from, "bytes.py", "x = 1\n");
    path = join(to, "bytes.py");
    write_file(path, "x = \xff\xfe\nx\0 = 2\n", 14);
    free(path);
    put(from, "bad.py", "s = 'a'\nx = 1\n");
    path = join(to, "bad.py");
    write_file(path, "s = '\xc3'\nx = 2\n", 14);
    free(path);
    put(from, "large.py", "x = 1\n");
    path = join(to, "large.py");
    put(to, "large.py", "x = 2\n");
    assert_int_equal(truncate(path, (off_t)1 << 40), 0); /* sparse */
    free(path);
    measure(&measured, from, to);
    assert_string_equal(changes_text(&measured), "x: 1 -> 2");
    assert_string_equal(measured.changes[0].file, "bad.py");
    assert_true(measured.incomplete);
    assert_string_equal(code_text(&measured), "bad.py = +2 -2; bad.py  +2 -2; bytes.py = +0 -0 binary; large.py = +0 -0 large; "
                                              "link.py = +0 -1; link.py  +0 -1; pipe.py = +0 -1; pipe.py  +0 -1");
    lineage_measured_release(&measured);
    free(from);
    free(to);
    remove_dir(dir);
}

/* Each text repeats a piece that opens something and never closes it. A cost that grows faster than the length would not
 * finish; nested levels beyond the limits must not be followed. */
static void hostile_texts_cost_their_length(void **state)
{
    static const char *const pieces[] = {"(",
                                         "[",
                                         "{",
                                         "f(",
                                         "x=[",
                                         "{'a':",
                                         "if x:",
                                         "if:",
                                         "def f(",
                                         "class A: ",
                                         "'''",
                                         "'",
                                         "\"\\",
                                         "a=",
                                         "a,",
                                         "a.b.",
                                         "\\\n",
                                         "#",
                                         "/*",
                                         "<<E\n",
                                         "${A:-",
                                         "$(",
                                         "- ",
                                         "  - a:\n",
                                         "a:\n ",
                                         "a: [",
                                         "{\"a\":{",
                                         "[[",
                                         "= = ",
                                         "\t\n",
                                         "@",
                                         "+++ b/x\n",
                                         "@@ -1 +1 @@\n-a\n+b\n",
                                         "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
                                         "lambda x: 0.5, ",
                                         "1+",
                                         "-",
                                         "0x",
                                         "1e"};
    static const char *const files[] = {"t.py", "t.c", "t.sh", "t.yaml", "t.toml", "t.json", "t.txt"};
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH + 1);
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t n = strlen(pieces[i]), at = 0;
        struct lineage_measured measured;
        for (; at + n <= LENGTH; at += n)
            memcpy(text + at, pieces[i], n);
        text[at] = '\0';
        assert_int_equal(lineage_measure_diff(&measured, text, at, &err), LINEAGE_OK);
        lineage_measured_release(&measured);
        for (size_t k = 0; k < sizeof files / sizeof *files; k++)
            assert_non_null(compare(files[k], text, "x = 1\n"));
    }
    free(text);
}

/* ---- diffs and commands ---- */

static void a_diff_is_measured_by_hunks(void **state)
{
    static const char diff[] = "diff --git a/train.py b/train.py\n"
                               "--- a/train.py\t2026-01-01\n"
                               "+++ b/train.py\t2026-01-02\n"
                               "@@ -10,4 +10,5 @@ class H:\n"
                               "     a = 1\n"
                               "-    lr = float(os.environ.get(\"LR\", 0.1))\n"
                               "+    lr = float(os.environ.get(\"LR\", 0.2))\n"
                               "+    wd = 0.3\n"
                               "     b = 2\n"
                               "     c = 3\n"
                               "@@ -100,5 +101,5 @@ def step(x):\n"
                               "     opt = AdamW(\n"
                               "         params,\n"
                               "-        weight_decay=0.1,\n"
                               "+        weight_decay=0.2,\n"
                               "         lr=0.1,\n"
                               "     )\n"
                               "--- a/conf/a.json\n"
                               "+++ b/conf/a.json\n"
                               "@@ -2,3 +2,3 @@\n"
                               "   \"model\": {\n"
                               "-    \"dim\": 512,\n"
                               "+    \"dim\": 768,\n"
                               "     \"n\": 1\n"
                               "--- /dev/null\n"
                               "+++ b/new.py\n"
                               "@@ -0,0 +1,2 @@\n"
                               "+x = 1\n"
                               "+y = 2\n"
                               "Binary files a/w.bin and b/w.bin differ\n";
    struct lineage_measured measured;
    (void)state;
    assert_int_equal(lineage_measure_diff(&measured, diff, sizeof diff - 1, &err), LINEAGE_OK);
    assert_string_equal(changes_text(&measured),
                        "lr: 0.1 -> 0.2; wd: new -> 0.3; AdamW.weight_decay: 0.1 -> 0.2; model.dim: 512 -> 768");
    assert_int_equal(measured.changes[0].line, 11);
    assert_string_equal(measured.changes[0].scope, "H");
    assert_string_equal(measured.changes[2].scope, "step");
    assert_string_equal(code_text(&measured), "train.py = +3 -2; train.py H +2 -1; train.py step +1 -1; conf/a.json = +1 -1; "
                                              "conf/a.json  +1 -1; new.py = +2 -0; new.py  +2 -0; w.bin = +0 -0 binary");
    lineage_measured_release(&measured);
}

static void commands_are_compared(void **state)
{
    static const char *const from[] = {"LR=1",  "python",     "train.py", "--wd", "0.1",
                                       "--n=3", "opt.lr=0.1", "--name",   "{x}",  "--old"};
    static const char *const to[] = {"LR=2",   "python",     "other.py", "--n=4", "--wd",  "0.2",
                                     "--fast", "opt.lr=0.2", "--name",   "{x}",   "--neg", "-1"};
    struct lineage_measured measured;
    (void)state;
    assert_int_equal(lineage_measure_commands(&measured, from, 10, to, 12, &err), LINEAGE_OK);
    assert_string_equal(changes_text(&measured),
                        "LR: 1 -> 2; n: 3 -> 4; wd: 0.1 -> 0.2; fast: new -> true; opt.lr: 0.1 -> 0.2; neg: new -> -1");
    assert_string_equal(measured.changes[0].file, "");
    lineage_measured_release(&measured);
    assert_int_equal(lineage_measure_commands(&measured, from, 0, from, 0, &err), LINEAGE_OK);
    assert_int_equal(measured.n_changes, 0);
    lineage_measured_release(&measured);
}

/* ---- trials of a store ---- */

static void put_in(const char *dir, const char *place, const char *name, const char *text)
{
    char *path = join(dir, place);
    for (char *slash = path + strlen(dir) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    mkdir(path, 0700);
    put(path, name, text);
    free(path);
}

static const char log_text[] =
    "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\tval_bpb\t"
    "delta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n"
    "000\t\ts\t\t\t\th\t\tbaseline\t1\t\t\t\t\t\tsnapshots/000_s\t\n"
    "001\t\ts\t000\t\t\th\t\tdiscard\t1\t\t\t\t\t\t\t\n"
    "002\t\ts\t001\t\t\th\t\tkeep\t2\t\t\t\t\t\tsnapshots/002_s\t\n"
    "003\t\ts\t002\t\t\th\t\tdiscard\t2\t\t\t\t\t\t\t\n"
    "004\t\ts\t003\t\t\th\t\tdiscard\t2\t\t\t\t\t\t../outside\t\n"
    "005\t\ts\t006\t\t\th\t\tdiscard\t2\t\t\t\t\t\tsnapshots/002_s\t\n"
    "006\t\ts\t005\t\t\th\t\tdiscard\t2\t\t\t\t\t\tsnapshots/000_s\t\n";

static const char *measure_trial(struct lineage_measured *measured, struct lineage_store *store, const char *id)
{
    struct lineage_trial trial;
    assert_int_equal(lineage_find(store, id, &trial, &err), LINEAGE_OK);
    assert_int_equal(lineage_measure_trial(measured, store, &trial, &err), LINEAGE_OK);
    lineage_trial_release(&trial);
    return changes_text(measured);
}

static void trials_are_compared_with_their_nearest_ancestor(void **state)
{
    char *dir = make_dir();
    struct lineage_measured m;
    (void)state;
    add_bytes(dir, log_text);
    put_in(dir, "snapshots/000_s", "train.py", "lr = 0.1\nwd = 1\n");
    put_in(dir, "snapshots/002_s", "train.py", "lr = 0.2\nwd = 1\n");
    put_in(dir, "outside", "train.py", "lr = 9\n");
    put_in(dir, "provenance/001", "run.json",
           "{\"command\": [\"python\", \"t.py\", \"--n\", \"1\"], \"env\": {\"A\": \"1\", \"T\": null}}");
    put_in(dir, "provenance/003", "run.json",
           "{\"command\": [\"python\", \"t.py\", \"--n\", \"2\"], \"env\": {\"A\": \"2\"}, \"git\": {\"commit\": \"abc\", "
           "\"top\": \"/\"}}");
    put_in(dir, "provenance/004", "run.json",
           "{\"command\": [\"python\", \"t.py\", \"--n\", \"2\"], \"env\": {\"A\": \"2\"}, \"git\": {\"commit\": \"abc\", "
           "\"against\": \"003\", \"change\": \"+2 -2\"}}");
    put_in(dir, "provenance/004", "parent.diff",
           "--- a/t.py\n+++ b/t.py\n@@ -1,3 +1,3 @@\n-a = 2\n+a = 3\n b = 1\n-c = 1\n+c = 4\n");
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);

    assert_string_equal(measure_trial(&m, store, "000"), "");
    assert_string_equal(m.against, "");
    lineage_measured_release(&m);
    /* 001 has no snapshot, so 002 is compared with 000. */
    assert_string_equal(measure_trial(&m, store, "002"), "lr: 0.1 -> 0.2");
    assert_string_equal(m.against, "000");
    assert_string_equal(m.command_against, "");
    lineage_measured_release(&m);
    assert_string_equal(measure_trial(&m, store, "003"), "A: 1 -> 2; n: 1 -> 2");
    assert_string_equal(m.command_against, "001");
    assert_string_equal(m.against, "");
    lineage_measured_release(&m);
    assert_string_equal(measure_trial(&m, store, "004"), "a: 2 -> 3; c: 1 -> 4");
    assert_string_equal(m.against, "003");
    assert_string_equal(code_text(&m), "t.py = +2 -2; t.py  +2 -2");
    lineage_measured_release(&m);
    /* A cycle of parents ends at the parent that comes later in the log. */
    assert_string_equal(measure_trial(&m, store, "005"), "");
    lineage_measured_release(&m);
    assert_string_equal(measure_trial(&m, store, "006"), "lr: 0.2 -> 0.1");
    lineage_measured_release(&m);

    struct lineage_trial from, to;
    assert_int_equal(lineage_find(store, "000", &from, &err), LINEAGE_OK);
    assert_int_equal(lineage_find(store, "002", &to, &err), LINEAGE_OK);
    assert_int_equal(lineage_measure_pair(&m, store, &from, &to, &err), LINEAGE_OK);
    assert_string_equal(changes_text(&m), "lr: 0.1 -> 0.2");
    lineage_measured_release(&m);
    lineage_trial_release(&to);
    assert_int_equal(lineage_find(store, "004", &to, &err), LINEAGE_OK);
    assert_int_equal(lineage_measure_pair(&m, store, &from, &to, &err), LINEAGE_ENOTFOUND); /* ../outside */
    lineage_measured_release(&m);
    lineage_trial_release(&from);
    lineage_trial_release(&to);
    lineage_store_close(store);
    remove_dir(dir);
}

/* All given changes of the set: "1 lr: 0.1 -> 0.2". */
static char *given_text(struct lineage_store *store)
{
    struct lineage_ideas *ideas;
    struct lineage_change change;
    struct buf out = {0};
    assert_int_equal(lineage_ideas_load(&ideas, store, &err), LINEAGE_OK);
    for (size_t i = 0; i < lineage_ideas_count(ideas); i++)
        for (size_t k = 0; lineage_ideas_change_at(&change, ideas, i, k); k++)
            buf_printf(&out, "%s%zu %s: %s -> %s", out.length ? "; " : "", i, change.name, change.from ? change.from : "new",
                       change.to);
    lineage_ideas_release(ideas);
    buf_put(&out, '\0');
    assert_false(out.failed);
    return out.data;
}

static void must_give(struct lineage_store *store, const char *wanted, const char *what)
{
    char *found = given_text(store);
    if (strcmp(found, wanted) != 0)
        fail_msg("after %s:\n%s\ninstead of\n%s", what, found, wanted);
    free(found);
}

/* What is saved in lineage.db never changes an answer. */
static void edited_tables_change_no_answer(void **state)
{
    static const char wanted[] = "2 lr: 0.1 -> 0.2; 6 lr: 0.2 -> 0.1";
    static const char *const edits[] = {
        "UPDATE change_rows SET new = '9'",
        "UPDATE change_rows SET new_value = 9",
        "UPDATE change_rows SET old = NULL",
        "UPDATE change_rows SET old_value = NULL",
        "UPDATE change_rows SET place = place + 5, budget = 1",
        "UPDATE change_rows SET name = zeroblob(9)",
        "UPDATE change_rows SET seq = seq + 1",
        "INSERT INTO change_rows SELECT seq, source, place + 1, name, old, new, old_value, new_value, budget FROM change_rows",
        "DELETE FROM change_rows",
        "UPDATE readings SET digest = digest + 1",
        "UPDATE readings SET seq = seq + 100",
        "DELETE FROM readings",
    };
    char *dir = make_dir();
    (void)state;
    add_bytes(dir, log_text);
    put_in(dir, "snapshots/000_s", "train.py", "lr = 0.1\nwd = 1\n");
    put_in(dir, "snapshots/002_s", "train.py", "lr = 0.2\nwd = 1\n");
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
        must_give(store, wanted, "opening");
        assert_string_equal(sql_value(store, "SELECT count(*) FROM changes WHERE source = 'measured' AND new_value < 1"), "2");
        /* by the mirror's connection, so that no page looks damaged */
        assert_int_equal(mirror_exec(store->mirror, edits[i], &err), LINEAGE_OK);
        must_give(store, wanted, edits[i]);
        lineage_store_close(store);
    }
    remove_dir(dir);
}

/* Rows whose snapshots are missing are read too, and compared once the snapshots are here, whatever is known of later rows. */
static void missing_snapshots_lose_no_changes(void **state)
{
    static const char *const rows = "SELECT group_concat(exp_id || ' ' || name || ' ' || new, ', ') FROM "
                                    "(SELECT * FROM changes ORDER BY seq, source, name)";
    char *dir = make_dir();
    (void)state;
    add_bytes(dir, "exp_id\tparent_exp\thypothesis\tstatus\tcore_metric\tsnapshot_path\n"
                   "000\t\th\tbaseline\t1\tsnapshots/000_s\n"
                   "001\t000\twarmup 10 -> 20 as in exp_000\tkeep\t1\tsnapshots/001_s\n"
                   "002\t000\th\tkeep\t1\tsnapshots/002_s\n");
    put_in(dir, "snapshots/000_s", "train.py", "lr = 0.1\nwd = 1\n");
    put_in(dir, "snapshots/002_s", "train.py", "lr = 0.1\nwd = 2\n");
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_string_equal(sql_value(store, rows), "001 warmup 20, 002 wd 2");
    assert_string_equal(sql_value(store, "SELECT count(*) FROM citations"), "1");
    must_give(store, "1 warmup: 10 -> 20; 2 wd: 1 -> 2", "leaving a snapshot out");
    lineage_store_close(store);
    put_in(dir, "snapshots/001_s", "train.py", "lr = 0.2\nwd = 1\n");
    for (size_t i = 0; i < 2; i++) {
        store = open_store(dir, LINEAGE_HIGHER, NULL);
        must_give(store, "1 lr: 0.1 -> 0.2; 1 warmup: 10 -> 20; 2 wd: 1 -> 2", "the snapshot came");
        assert_string_equal(sql_value(store, rows), "001 lr 0.2, 001 warmup 20, 002 wd 2");
        lineage_store_close(store);
    }
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_of_python_are_found),
        cmocka_unit_test(what_is_not_a_change),
        cmocka_unit_test(settings_of_c_are_found),
        cmocka_unit_test(settings_of_shell_are_found),
        cmocka_unit_test(settings_of_configuration_files_are_found),
        cmocka_unit_test(lines_are_counted_by_function),
        cmocka_unit_test(the_shortest_difference_is_found),
        cmocka_unit_test(a_renamed_program_is_compared),
        cmocka_unit_test(hostile_directories_are_survived),
        cmocka_unit_test(hostile_texts_cost_their_length),
        cmocka_unit_test(a_diff_is_measured_by_hunks),
        cmocka_unit_test(commands_are_compared),
        cmocka_unit_test(trials_are_compared_with_their_nearest_ancestor),
        cmocka_unit_test(edited_tables_change_no_answer),
        cmocka_unit_test(missing_snapshots_lose_no_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
