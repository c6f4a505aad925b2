/* page_data.h: the data of a store for the script of a page, as JSON in a script element. */
#pragma once

#include "report/picture.h"

/* Prints the element. Lists have one entry for each trial, in file order; numbers that are not finite are null. */
void page_data_print(const struct picture *p);
