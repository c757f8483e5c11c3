/* TriStar: programs of version 0.2 compile unchanged.
 *
 * In 0.2 tristar.h declared all that the headers below declare. tristar.h includes this header unless
 * TRISTAR_NO_COMPAT is defined. Version 0.4 has no such header: include the headers that you need. */
#ifndef TRISTAR_COMPAT_H
#define TRISTAR_COMPAT_H

#include "tristar_device.h"
#include "tristar_layout.h"
#include "tristar_machine.h"
#include "tristar_matrix.h"
#include "tristar_solve.h"
#include "tristar_stats.h"
#include "tristar_triangle.h"

#endif
