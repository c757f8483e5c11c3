/* Counts the reports of the thread sanitizer, for tests of races. */
#pragma once

/* The sanitizer calls this for each race that it finds; it must not instrument this function. */
static int reports;
__attribute__((visibility("default"), no_sanitize("thread"))) void __tsan_on_report(void *report);
void __tsan_on_report(void *report) {
  (void)report;
  reports++;
}
/* Options: equal races of two launches are reported twice; the test counts and reports them itself. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void) {
  return "suppress_equal_stacks=0:suppress_equal_addresses=0:exitcode=0:report_bugs=1";
}
