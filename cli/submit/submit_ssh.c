/* submit_ssh.c: one worker on each of several machines, by ssh. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "submit/schedulers.h"
#include "submit/worker_command.h"
#include "support/shell_word.h"

/* ssh takes a word that begins with a hyphen as an option. */
static bool is_host(const char *host)
{
    return *host && *host != '-' && !strpbrk(host, " \t\r\n'\"\\;&|<>$`");
}

/* Writes the command that one host shall run, as one line of its shell. */
static char *remote_command(const struct submission *s, const char *host)
{
    char *text = NULL, name[WORKER_NAME_MAX], hours[32];
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    snprintf(hours, sizeof hours, "%.10g", s->hours);
    fputs("nohup ", out);
    worker_command_write(out, s, isfinite(s->hours) ? hours : NULL);
    fprintf(out, " >>%s-%s.log 2>&1 </dev/null &", worker_name(name, s->sweep), host);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

int submit_ssh_write(FILE *out, const struct submission *s)
{
    char name[WORKER_NAME_MAX], *list = strdup(s->hosts), *command = NULL;
    int status = list ? CLI_GO_ON : cli_no_memory();
    fprintf(out,
            "#!/bin/sh\n# Workers of the night %s. Made by `lineage night --submit ssh`.\n"
            "# Each writes to a file of its name in the home directory of its machine.\nset -e\n",
            worker_name(name, s->sweep));
    for (char *rest = list, *host; status == CLI_GO_ON && (host = strsep(&rest, ","));) {
        if (!is_host(host)) {
            status = cli_error(CLI_USAGE, "--hosts: '%s' is not the name of a machine", host);
        } else if (!(command = remote_command(s, host))) {
            status = cli_no_memory();
        } else {
            fprintf(out, "ssh -n %s", host);
            shell_word_write(out, command);
            fputc('\n', out);
        }
        free(command);
        command = NULL;
    }
    free(list);
    return status;
}
