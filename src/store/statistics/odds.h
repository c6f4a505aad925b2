/* odds.h: normal values of Student's t. */
#ifndef STATISTICS_ODDS_H
#define STATISTICS_ODDS_H

/* Wallace's normal value of Student's t with df degrees of freedom. */
double normal_of_t(double t, double df);

#endif
