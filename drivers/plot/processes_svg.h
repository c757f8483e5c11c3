/* Where the time of every process of a distributed solve went, as a picture. */
#ifndef TSI_DRIVERS_PLOT_PROCESSES_SVG_H
#define TSI_DRIVERS_PLOT_PROCESSES_SVG_H

#include "drivers/session/session.h"
#include "tristar_mpi.h"

/* Writes --svg: a stacked bar for each of `ranks` processes. Gives whether it could. */
bool tsi_processes_svg(tsi_session *s, const tristar_layout *layout, int ranks,
                       const tristar_distributed_stats *stats);

#endif
