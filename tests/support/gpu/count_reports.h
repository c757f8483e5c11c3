/* Counts what the thread sanitizer reports, for tests of races. */
#pragma once

/* The sanitizer calls this for each race that it finds, and must not look at it. */
static int reports;
__attribute__((visibility("default"), no_sanitize("thread"))) void __tsan_on_report(void *report);
void __tsan_on_report(void *report) {
  (void)report;
  reports++;
}
/* Equal races of two launches are two; what is found is counted, and told by this test. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:exitcode=0:report_bugs=1";
}
