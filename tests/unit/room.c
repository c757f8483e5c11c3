/* The tests of a room in one program: runs the test that the first argument names. ROOM_TESTS is a list of
 * TEST(name). */
#include <stdio.h>
#include <string.h>

#define TEST(name) int name(int argc, char **argv);
ROOM_TESTS
#undef TEST

int main(int argc, char **argv) {
  if (argc < 2) {
#define TEST(name) puts(#name);
    ROOM_TESTS
#undef TEST
    return 2;
  }
#define TEST(name)                                                                                           \
  if (strcmp(argv[1], #name) == 0) return name(argc - 1, argv + 1);
  ROOM_TESTS
  fprintf(stderr, "%s: no test %s\n", argv[0], argv[1]);
  return 2;
}
