/* Reading a part of the entries of a Matrix Market file: see market.h. */
#include "runtime/matrix/file/market.h"

/* all * number / parts, without overflow. */
static int64_t share(int64_t all, int parts, int number) {
  return all / parts * number + all % parts * number / parts;
}

tristar_status tsi_market_part_open(tsi_market_part *p, tsi_env *env, const char *path,
                                    const tsi_matrix_part *part) {
  char *text;
  *p = (tsi_market_part){.part = *part};
  TSI_TRY(tsi_lines_open(&p->lines, env, path));
  if (p->lines.bytes == 0)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "%s: only a file that is not empty can be read in parts",
             p->lines.path);
  TSI_TRY(tsi_lines_next(&p->lines, &text));
  if (text == NULL || *text != '%')
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "%s: only Matrix Market files can be read in parts",
             p->lines.path);
  TSI_TRY(tsi_market_read_header(&p->lines, text, &p->header));
  if (p->header.array)
    TSI_FAIL(env, TRISTAR_ERR_UNSUPPORTED, "%s: only coordinate files can be read in parts", p->lines.path);
  p->plain = !tsi_lines_compressed(&p->lines);
  const int64_t begin = p->plain ? tsi_lines_position(&p->lines) : 0;
  const int64_t all = p->plain ? p->lines.bytes - begin : p->header.entries;
  p->first = begin + share(all, part->parts, part->number);
  p->end = begin + share(all, part->parts, part->number + 1);
  return TRISTAR_OK;
}

void tsi_market_part_close(tsi_market_part *p) {
  tsi_lines_close(&p->lines);
}

tristar_status tsi_market_part_count(tsi_market_part *p, tsi_count *lines) {
  *lines = 0;
  return p->plain ? tsi_lines_count(&p->lines, p->first, p->end, lines) : TRISTAR_OK;
}

/* Reads the line of entry k of a compressed file. */
static tristar_status need_entry(tsi_market_part *p, tsi_count k, char **text) {
  tristar_status status = TRISTAR_OK;
  TSI_TRY(tsi_market_next(&p->lines, text));
  if (*text == NULL) status = tsi_market_ends_early(&p->lines, &p->header, k);
  return status;
}

/* A line that begins before the part belongs to the part before. The first line of this part begins after the
 * end of that line; this is p->first if the byte before ends a line. */
tristar_status tsi_market_part_begin(tsi_market_part *p, tsi_count before) {
  const tsi_count next = p->header.size_line + before + 1;
  char *text;
  if (!p->plain) {
    for (tsi_count k = 0; k < p->first; k++) TSI_TRY(need_entry(p, k, &text));
    return TRISTAR_OK;
  }
  if (p->part.number == 0) return tsi_lines_seek(&p->lines, p->first, next);
  TSI_TRY(tsi_lines_seek(&p->lines, p->first - 1, next));
  TSI_TRY(tsi_lines_next(&p->lines, &text));
  if (tsi_lines_position(&p->lines) == p->first) p->lines.number--;
  return TRISTAR_OK;
}

/* Reads the next line of a plain file that has an entry and begins in the part; NULL: there is none. */
static tristar_status next_plain(tsi_market_part *p, char **text) {
  *text = NULL;
  do {
    if (tsi_lines_position(&p->lines) >= p->end) {
      *text = NULL;
      return TRISTAR_OK;
    }
    TSI_TRY(tsi_lines_next(&p->lines, text));
  } while (*text != NULL && tsi_market_is_blank(*text));
  return TRISTAR_OK;
}

/* Reads the next entry of the part of a compressed file; NULL: there is none. */
static tristar_status next_compressed(tsi_market_part *p, char **text) {
  *text = NULL;
  if (p->first + p->taken < p->end) return need_entry(p, p->first + p->taken, text);
  return p->end == p->header.entries ? tsi_market_end(&p->lines, &p->header) : TRISTAR_OK;
}

tristar_status tsi_market_part_next(tsi_market_part *p, bool *there, tsi_index *i, tsi_index *j,
                                    double *value) {
  char *text;
  TSI_TRY(p->plain ? next_plain(p, &text) : next_compressed(p, &text));
  *there = text != NULL;
  if (*there) TSI_TRY(tsi_market_entry(&p->lines, &p->header, text, &p->warned, i, j, value));
  p->taken += *there;
  return TRISTAR_OK;
}
