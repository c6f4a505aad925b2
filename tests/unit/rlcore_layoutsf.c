/* rlcore_layoutsf.c: compiles the tests of rlcore_layouts.c in single precision, with bfloat16. */
#define RL_SINGLE
#include "rlcore_layouts.c"
