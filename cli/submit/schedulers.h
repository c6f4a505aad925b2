/* schedulers.h: the texts for the schedulers (submit.h). Each returns CLI_GO_ON, or an exit status after printing an error. */
#pragma once

#include <stdio.h>

#include "submit/submission.h"

int submit_slurm_write(FILE *out, const struct submission *submission);
int submit_kubernetes_write(FILE *out, const struct submission *submission);
int submit_ssh_write(FILE *out, const struct submission *submission);
