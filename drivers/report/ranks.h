/* The processes of `tristar solve --layout`: how they read rows of the matrix, and what is told of each.
 *
 * Reads   a session that is open on all ranks.   Writes  its precision, view (without entries) and time. */
#ifndef TSI_DRIVERS_REPORT_RANKS_H
#define TSI_DRIVERS_REPORT_RANKS_H

#include "drivers/report/rank_figures.h"
#include "drivers/session/session.h"
#include "tristar_dmatrix_mpi.h"

/* On all ranks: rows of the matrix on each; NULL where they cannot be read so, or where rank 0 is to say what
 * is wrong with them. A complex symmetric matrix may have real values alone: then it is Hermitian, which one
 * who has all of them can tell. */
tristar_dmatrix_t *tsi_rows_read(tsi_session *s);

/* Lists the figures of a tristar_distributed_stats: see tsi_rank_records. */
int tsi_solve_figures(const void *of_rank, tsi_rank_figure figure[TSI_RANK_FIGURES_MOST]);

/* What ranks solve on devices: lines of the report, of those that do. */
void tsi_report_rank_devices(int ranks, const tristar_distributed_stats *stats);

#endif
