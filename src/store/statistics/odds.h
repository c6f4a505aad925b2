/* odds.h: normal values of Student's t. */
#pragma once

/* Wallace's normal value of Student's t with df degrees of freedom. */
double normal_of_t(double t, double df);
