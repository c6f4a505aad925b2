#include "plan/planning.h"

json_t *planner_answer_read(char *answer, json_t *problems)
{
    json_error_t error;
    json_t *list = json_array(), *whole = json_loads(answer, JSON_REJECT_DUPLICATES, &error);
    char *rest = answer, *line;
    if (json_is_array(whole) || json_is_object(whole)) {
        json_decref(list);
        return json_is_array(whole) ? whole : json_pack("[o]", whole);
    }
    json_decref(whole);
    if (strncmp(error.text, "duplicate object key", 20) == 0 && answer[strspn(answer, " \t\r\n")] == '[') {
        json_array_append_new(problems, json_sprintf("the planner's answer, line %d: %s", error.line, error.text));
        return list;
    }
    for (int number = 1; (line = strtok_r(rest, "\n", &rest)); number++) {
        if (line[strspn(line, " \t")] != '{')
            continue;
        json_t *proposal = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        if (proposal)
            json_array_append_new(list, proposal);
        else if (strncmp(error.text, "duplicate object key", 20) == 0)
            json_array_append_new(problems, json_sprintf("the planner's answer, line %d: %s", number, error.text));
    }
    return list;
}
