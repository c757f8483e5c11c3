/* Output on stdout: the lines of a report, and the same figures as JSON. */
#pragma once

#include "drivers/report/bandwidth.h"
#include "drivers/report/json.h"
#include "drivers/report/paths.h"
#include "tristar_trace.h"
#include "tristar_machine.h"
#include "tristar_layout.h"

/* Return a number as text in one of eight buffers of the thread, valid until the eighth next call. */
const char *tsi_text_count(int64_t count);                      /* 1,234,567 */
const char *tsi_text_many(int64_t count, const char *singular); /* 1 chunk, 1,234 chunks */
const char *tsi_text_seconds(double seconds);                   /* 1.23 s, 4.56 ms, 7.89 us */
const char *tsi_text_time(double seconds);                      /* the same with 7.89 µs, for pictures */
const char *tsi_text_bytes(double bytes);                       /* 12.3 MB, 4.56 GB */
const char *tsi_text_round_bytes(double bytes);                 /* 500 bytes, 20 KB: a round number */
const char *tsi_text_flops(double flops);                       /* 123 Kflop, 12.3 Mflop, 4.56 Gflop */

/* Returns the floating-point operations of the factorization; complex ones count fourfold. */
double tsi_factor_flops(const tsi_session *s);

const char *tsi_method_name(tristar_method method); /* llt, lu */
const char *tsi_symmetry_text(tristar_symmetry symmetry);

/* Prints "label     text"; labels have a column of their own, which may be empty. */
__attribute__((format(printf, 2, 3))) void tsi_report(const char *label, const char *format, ...);
/* Print the paragraphs that all reports share. */
void tsi_report_matrix(const tsi_session *s);
void tsi_report_analysis(const tsi_session *s);
void tsi_report_forecast(const tsi_session *s);
void tsi_report_factor(const tsi_session *s);
void tsi_report_plan(const tsi_session *s);
/* Prints the share of a plan on devices, and the share that did not fit. Prints nothing if all is on cores.
 */
void tsi_report_devices(const tristar_plan_t *plan, const tristar_plan_stats *stats);
/* Prints peaks of memory so far: of the library's allocations, and of the process with StarPU's tasks and all
 * else. */
void tsi_report_memory(const tsi_session *s, const tsi_bandwidth *bandwidth);
/* Prints cores and caches. */
void tsi_report_machine(const char *label, const tristar_calibration *calibration);

/* With --explain: prints what runs the solves, and why. */
void tsi_report_way(const tsi_session *s, const tristar_explanation *explanation);
/* Prints the share of the factor that the solve needed; prints nothing if no paths are used. */
void tsi_report_paths(const tsi_paths *paths);
/* Prints the share of the read bandwidth that a solve with so many GB/s reaches. Prints nothing if the
 * bandwidth was not measured. what: the data that the solve reads, "factor". */
void tsi_report_share(const tsi_bandwidth *bandwidth, int workers, double gbps, const char *what);
/* Prints how the latest solve spent its time. */
void tsi_report_stats(const tristar_solve_stats *stats);

/* Returns a JSON object with version, status, message (if any) and the figures of all steps that are done. */
cJSON *tsi_json_session(const tsi_session *s);
/* Does the same for a session without a matrix. */
cJSON *tsi_json_status(const tsi_session *s);
void tsi_json_add_bandwidth(cJSON *object, const tsi_bandwidth *bandwidth);
void tsi_json_add_calibration(cJSON *object, const tristar_calibration *calibration);
/* Adds the checksum as 16 hexadecimal digits. */
void tsi_json_add_checksum(cJSON *object, uint64_t checksum);
/* Adds an object "layout" that describes a layout, and returns it. */
cJSON *tsi_json_add_layout(cJSON *object, const tsi_session *s, const tristar_layout *layout);
void tsi_json_add_range(cJSON *object, const char *key, const tristar_range *range);
void tsi_json_add_messages(cJSON *object, const char *key, const tristar_messages *messages);
/* Adds an object "devices" with the figures of each device that a plan uses. */
void tsi_json_add_devices(const tristar_plan_t *plan, const tristar_plan_stats *stats, cJSON *object);
void tsi_json_add_way(cJSON *object, const tristar_explanation *explanation);
void tsi_json_add_paths(cJSON *object, const tsi_paths *paths);
void tsi_json_add_stats(cJSON *object, const tristar_solve_stats *stats);
void tsi_json_add_profile(cJSON *object, const tristar_profile_result *profile);
/* Writes --json, if given, and frees the object. */
bool tsi_json_write(tsi_session *s, cJSON *object);
