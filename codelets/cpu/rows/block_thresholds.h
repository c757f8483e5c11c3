/* Made by tools/bench/train_kernels of tools/bench/train/kernels.csv: rows of the table in block_choice.c;
 * 1e9: never. A header of its own because a script writes it. */
/* clang-format off */
{"base", 'c', true, 28},
{"base", 'd', false, 1e9},
{"base", 's', true, 48},
{"base", 'z', true, 1e9},
{"avx2", 'c', false, 3},
{"avx2", 'd', true, 1.5},
{"avx2", 's', true, 1.5},
{"avx2", 'z', false, 20},
{"avx512", 'c', true, 3},
{"avx512", 'd', true, 28},
{"avx512", 's', true, 1.5},
{"avx512", 'z', true, 3},
