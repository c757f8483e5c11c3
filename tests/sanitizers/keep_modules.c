/* Keeps modules loaded. Linked into tests that use MPI when leaks are checked. Open MPI unloads its modules
 * before it ends. Their leaks would then have no symbol names that distinguish them from leaks of TriStar,
 * and memory that only their variables point to would count as lost. Whole stacks, down to libmpi, would also
 * distinguish them, but unwinding one for each allocation takes longer than most tests. */
__attribute__((visibility("default"))) int dlclose(void *handle);
int dlclose(void *handle) {
  (void)handle;
  return 0;
}
