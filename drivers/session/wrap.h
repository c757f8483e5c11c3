/* Help texts in lines of at most 100 characters. */
#pragma once

/* Prints paragraphs, each of which is a line of the text. */
void tsi_wrap_paragraphs(const char *text);
/* Prints a word and, from column `indent` on, what it means; the word begins in the third column. */
void tsi_wrap_entry(const char *word, const char *meaning, int indent);
