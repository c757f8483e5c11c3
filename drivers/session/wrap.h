/* Prints help texts in lines of at most 100 characters. */
#pragma once

/* Prints paragraphs; each line of the text is one paragraph. */
void tsi_wrap_paragraphs(const char *text);
/* Prints a word from the third column on, and its meaning from column `indent` on. */
void tsi_wrap_entry(const char *word, const char *meaning, int indent);
