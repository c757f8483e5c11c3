#!/usr/bin/env bash
# GCC 12.2.0 (Debian 12, cpp-12 12.2.0-14+deb12u1): no way but an intrinsic makes vcvtps2pd of four floats, with AVX2 and with AVX-512.
# Guess: four floats become four doubles by one instruction, as four doubles become four floats, and as _mm256_cvtps_pd does.
# Seen with -O3 -mavx2, conversions of 128 bits and joins of halves: __builtin_convertvector 2 and 1, a loop over four entries 2 and 0
# (two stores), _mm256_cvtps_pd 0 and 0, one conversion of 256 bits. __builtin_convertvector to floats: one conversion of 256 bits.
# Consequence: kernels that read a factor in single precision and add in double take three or four instructions for one; use the intrinsic.
# Fails (exit status 1) if that changes; 77 if the packages cannot be had.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for package in cpp-12=12.2.0-14+deb12u1 libisl23=0.25-1.1 libmpc3=1.3.1-1 libmpfr6=4.2.0-1 libgmp10=2:6.2.1+dfsg1-1.1; do
  apt-get download -q "$package" >log 2>&1 || { cat log; echo "skipped: $package cannot be fetched"; exit 77; }
done
for package in *.deb; do dpkg -x "$package" root; done
folder=$PWD/root/usr/lib/gcc/x86_64-linux-gnu/12
cat >program.c <<'C'
typedef float floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(32)));
doubles builtin(floats x) { return __builtin_convertvector(x, doubles); }
void loop(const float *restrict x, double *restrict y) {
  for (int i = 0; i < 4; i++) y[i] = x[i];
}
doubles intrinsic(floats x) { return __builtin_ia32_cvtps2pd256(x); }
floats narrow(doubles x) { return __builtin_convertvector(x, floats); }
C
for instructions in avx2 avx512vl; do
  LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu "$folder/cc1" -quiet -O3 -m$instructions program.c -o program.s
  awk -v set=$instructions '
    /^[a-z]+:/ { name = $1 }
    /vcvtps2pd.*, *%xmm[0-9]+$/ { half[name]++ }
    /vcvtps2pd.*, *%ymm[0-9]+$/ || /vcvtpd2ps.*%ymm/ { whole[name]++ }
    /vinsertf128/ { join[name]++ }
    END {
      for (k = split("builtin: loop: intrinsic: narrow:", f, " "); k > 0; k--)
        printf "%s %s halves %d, joins %d, whole %d\n", set, f[k], half[f[k]], join[f[k]], whole[f[k]]
    }' program.s
done | tee output
for instructions in avx2 avx512vl; do
  printf '%s\n' "$instructions narrow: halves 0, joins 0, whole 1" "$instructions intrinsic: halves 0, joins 0, whole 1" \
    "$instructions loop: halves 2, joins 0, whole 0" "$instructions builtin: halves 2, joins 1, whole 0"
done >expected
cmp -s output expected || { echo "changed: other instructions"; exit 1; }
echo "GCC 12.2.0: four floats are widened by halves, as described"
