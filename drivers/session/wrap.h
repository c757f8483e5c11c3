/* Help texts in lines of at most 100 characters. */
#ifndef TSI_DRIVERS_SESSION_WRAP_H
#define TSI_DRIVERS_SESSION_WRAP_H

/* Prints the words of a text. column: how many characters the current line has already; indent: the column
 * where further lines begin. */
void tsi_wrap(const char *text, int column, int indent);
/* Prints paragraphs, each of which is a line of the text. */
void tsi_wrap_paragraphs(const char *text);
/* Prints a word and, from column `indent` on, what it means; the word begins in the third column. */
void tsi_wrap_entry(const char *word, const char *meaning, int indent);

#endif
