/* Variants of a solve: WORD[+WORD...], the values of --variant and --variants.
 *
 * Reads   the words.   Writes  fields of the options of analysis and plan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tristar.h"

/* Returns the i-th word, from 0, and its meaning; false if there is no i-th word. meaning may be NULL. */
bool tsi_variant_word(int i, const char **word, const char **meaning);

/* Is the variant wrong? Then writes an error message: an unknown word, or two words that contradict each
 * other. */
bool tsi_variant_wrong(const char *variant, char *message, size_t size);

/* Sets the options of a correct variant; variant NULL: none. */
void tsi_variant_apply(const char *variant, tristar_analysis_options *analysis, tristar_plan_options *plan);
