/* What the program tells on stdout: the lines of a report, and the same figures as JSON. */
#pragma once

#include "drivers/report/bandwidth.h"
#include "drivers/report/json.h"
#include "drivers/report/paths.h"
#include "tristar_trace.h"
#include "tristar_machine.h"
#include "tristar_layout.h"

/* Text for a number, in one of eight buffers of the thread: valid until the eighth next call. */
const char *tsi_text_count(int64_t count);                      /* 1,234,567 */
const char *tsi_text_many(int64_t count, const char *singular); /* 1 chunk, 1,234 chunks */
const char *tsi_text_seconds(double seconds);                   /* 1.23 s, 4.56 ms, 7.89 us */
const char *tsi_text_time(double seconds);                      /* the same with 7.89 µs, for pictures */
const char *tsi_text_bytes(double bytes);                       /* 12.3 MB, 4.56 GB */
const char *tsi_text_round_bytes(double bytes);                 /* 500 bytes, 20 KB: a round number */
const char *tsi_text_flops(double flops);                       /* 123 Kflop, 12.3 Mflop, 4.56 Gflop */

/* Floating-point operations of the factorization: four times as many, if it is complex. */
double tsi_factor_flops(const tsi_session *s);

const char *tsi_method_name(tristar_method method); /* llt, lu */
const char *tsi_symmetry_text(tristar_symmetry symmetry);

/* "label     text": the label, if any, in a column of its own. */
__attribute__((format(printf, 2, 3))) void tsi_report(const char *label, const char *format, ...);
/* The paragraphs that all reports share. */
void tsi_report_matrix(const tsi_session *s);
void tsi_report_analysis(const tsi_session *s);
/* The forecast. */
void tsi_report_forecast(const tsi_session *s);
void tsi_report_factor(const tsi_session *s);
void tsi_report_plan(const tsi_session *s);
/* What of a plan is on devices, and what did not fit there; nothing where all is on the cores. */
void tsi_report_devices(const tristar_plan_t *plan, const tristar_plan_stats *stats);
/* Most so far: what the library has allocated, and what the process has had, with StarPU's tasks and all
 * else. */
void tsi_report_memory(const tsi_session *s, const tsi_bandwidth *bandwidth);
/* Cores and caches. */
void tsi_report_machine(const char *label, const tristar_calibration *calibration);

/* With --explain: what runs the solves, and why. */
void tsi_report_way(const tsi_session *s, const tristar_explanation *explanation);
/* What of the factor was needed; nothing where no paths are used. */
void tsi_report_paths(const tsi_paths *paths);
/* The share of the read bandwidth that a solve with so many GB/s reaches; nothing where that was not
 * measured. what: it reads, "factor". */
void tsi_report_share(const tsi_bandwidth *bandwidth, int workers, double gbps, const char *what);
/* Where the time of the latest solve went. */
void tsi_report_stats(const tristar_solve_stats *stats);

/* A JSON object with version, status, message (if any) and the figures of whatever the session has reached.
 */
cJSON *tsi_json_session(const tsi_session *s);
/* The same without a matrix. */
cJSON *tsi_json_status(const tsi_session *s);
void tsi_json_add_bandwidth(cJSON *object, const tsi_bandwidth *bandwidth);
void tsi_json_add_calibration(cJSON *object, const tristar_calibration *calibration);
/* As 16 hexadecimal digits. */
void tsi_json_add_checksum(cJSON *object, uint64_t checksum);
/* Adds an object "layout" with the words of a layout, and returns it. */
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
