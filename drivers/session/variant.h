/* Variants of a solve by their words: WORD[+WORD...], as --variant and --variants take them.
 *
 * Reads   the words.   Writes  fields of the options of analysis and plan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "tristar.h"

/* The i-th word, from 0, and what it means; false if there is no i-th. meaning may be NULL. */
bool tsi_variant_word(int i, const char **word, const char **meaning);

/* What is wrong with a variant, into message: an unknown word, or two that contradict each other. False: it
 * is right. */
bool tsi_variant_wrong(const char *variant, char *message, size_t size);

/* Sets what the words say; variant NULL: nothing. The variant is right. */
void tsi_variant_apply(const char *variant, tristar_analysis_options *analysis, tristar_plan_options *plan);
