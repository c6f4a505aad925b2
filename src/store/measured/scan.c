/* scan.c: chooses the reader of a text. */
#include "scan.h"

#include <string.h>

static const struct {
    const char *end;
    enum language language;
} languages[] = {{"py", LANGUAGE_PYTHON}, {"pyi", LANGUAGE_PYTHON}, {"c", LANGUAGE_C},       {"h", LANGUAGE_C},
                 {"cc", LANGUAGE_C},      {"cpp", LANGUAGE_C},      {"cxx", LANGUAGE_C},     {"hh", LANGUAGE_C},
                 {"hpp", LANGUAGE_C},     {"hxx", LANGUAGE_C},      {"cu", LANGUAGE_C},      {"cuh", LANGUAGE_C},
                 {"sh", LANGUAGE_SHELL},  {"bash", LANGUAGE_SHELL}, {"zsh", LANGUAGE_SHELL}, {"env", LANGUAGE_SHELL},
                 {"yaml", LANGUAGE_YAML}, {"yml", LANGUAGE_YAML},   {"toml", LANGUAGE_TOML}, {"ini", LANGUAGE_TOML},
                 {"cfg", LANGUAGE_TOML},  {"conf", LANGUAGE_TOML},  {"json", LANGUAGE_JSON}, {"jsonc", LANGUAGE_JSON},
                 {"json5", LANGUAGE_JSON}};

enum language language_of(const char *path, const char *text, size_t length)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof languages / sizeof *languages; i++)
        if (strcmp(dot + 1, languages[i].end) == 0)
            return languages[i].language;
    if (dot || length < 3 || text[0] != '#' || text[1] != '!')
        return LANGUAGE_NONE;
    /* #!/bin/sh, #!/usr/bin/env python3 */
    char first[128];
    size_t n = 0;
    while (n < length && n + 1 < sizeof first && text[n] != '\n') {
        first[n] = text[n] ? text[n] : ' ';
        n++;
    }
    first[n] = '\0';
    return strstr(first, "python") ? LANGUAGE_PYTHON : strstr(first, "sh") ? LANGUAGE_SHELL : LANGUAGE_NONE;
}

void literals_read(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
                   size_t length)
{
    switch (language) {
    case LANGUAGE_NONE: break;
    case LANGUAGE_PYTHON: scan_python(set, scope, in_function, text, length); break;
    case LANGUAGE_C: scan_c(set, scope, in_function, text, length); break;
    case LANGUAGE_SHELL: scan_shell(set, text, length); break;
    case LANGUAGE_YAML:
    case LANGUAGE_TOML:
    case LANGUAGE_JSON: scan_configuration(set, language, text, length); break;
    }
}
