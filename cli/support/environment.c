/* environment.c: see environment.h. */
#include "support/environment.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool cli_blames_environment(const char *text)
{
    static const char *const messages[] = {"ModuleNotFoundError", "No module named", "Cannot find module",
                                           "error while loading shared libraries", "cannot open shared object file",
                                           "No space left on device", "Disk quota exceeded", "no CUDA-capable device",
                                           "CUDA driver version is insufficient"};
    for (size_t i = 0; text && i < sizeof messages / sizeof *messages; i++)
        if (strstr(text, messages[i]))
            return true;
    return false;
}

const char *cli_sign(const char *unicode, const char *ascii)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !(locale && *locale); i++)
        locale = getenv(names[i]);
    return locale && (strcmp(locale, "C") == 0 || strcmp(locale, "POSIX") == 0) ? ascii : unicode;
}
