/*
 * case_argument_names.c: translates the names in the core's error messages into the names of the
 * case.
 *
 * The core names its own arguments ("turn id[0][3]"). A caller of rlcase passed the array under
 * another name and searches its own code for that name ("inputs.turn_id[0][3]").
 */
#include "case_call.h"

#include <stdio.h>
#include <string.h>

void case_name_error(struct case_call *call)
{
    /* Kernels name their mask response_mask or loss_mask; the case has one of the two. */
    static const char *const names[][2] = {
        {"response mask", "response_mask"}, {"response mask", "loss_mask"}, {"turn id", "turn_id"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[RL_ERROR_TEXT_MAX];
        size_t n = strlen(names[i][0]);
        memcpy(text, call->err.text, sizeof text);
        if (strncmp(text, names[i][0], n) == 0 && text[n] == '[' && case_array(call, names[i][1]))
            snprintf(call->err.text, sizeof call->err.text, "inputs.%s%.*s", names[i][1],
                     (int)(sizeof text - sizeof "inputs.response_mask"), text + n);
    }
}
