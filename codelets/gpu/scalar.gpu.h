/* Scalars of the kernels: float, double, and gpu_complex of either, which has the layout of C's _Complex. A
 * factor may be stored in single precision and used with vectors in double: V is the type of stored numbers,
 * T the type of computed numbers. */
#pragma once

#include "codelets/gpu/gpu.h"
#include "codelets/gpu/panel.gpu.h"

template <class R> struct gpu_complex { R re, im; };

template <class T> struct gpu_scalar {
  typedef T real;
  typedef double wide; /* the double type of the same kind */
  static constexpr bool COMPLEX = false;
};
template <class R> struct gpu_scalar<gpu_complex<R>> {
  typedef R real;
  typedef gpu_complex<double> wide;
  static constexpr bool COMPLEX = true;
};

template <class R>
__host__ __device__ static inline gpu_complex<R> operator+(gpu_complex<R> a, gpu_complex<R> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
__host__ __device__ static inline gpu_complex<R> operator-(gpu_complex<R> a, gpu_complex<R> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R> __host__ __device__ static inline gpu_complex<R> operator-(gpu_complex<R> a) {
  return {-a.re, -a.im};
}
template <class R>
__host__ __device__ static inline gpu_complex<R> operator*(gpu_complex<R> a, gpu_complex<R> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R> __host__ __device__ static inline gpu_complex<R> operator*(R a, gpu_complex<R> b) {
  return {a * b.re, a * b.im};
}

/* Converts a scalar to another precision. */
template <class T> struct gpu_to {
  template <class V> __host__ __device__ static T from(V v) { return (T)v; }
};
template <class R> struct gpu_to<gpu_complex<R>> {
  template <class S> __host__ __device__ static gpu_complex<R> from(gpu_complex<S> v) {
    return {(R)v.re, (R)v.im};
  }
};

/* s += a x */
template <class R> __host__ __device__ static inline void gpu_add_product(R &s, R a, R x) {
  s += a * x;
}
template <class R>
__host__ __device__ static inline void gpu_add_product(gpu_complex<R> &s, gpu_complex<R> a,
                                                       gpu_complex<R> x) {
  s.re += a.re * x.re;
  s.re -= a.im * x.im;
  s.im += a.re * x.im;
  s.im += a.im * x.re;
}

template <class R> __host__ __device__ static inline bool gpu_is_zero(R a) {
  return a == 0;
}
template <class R> __host__ __device__ static inline bool gpu_is_zero(gpu_complex<R> a) {
  return a.re == 0 && a.im == 0;
}
template <class R> __host__ __device__ static inline R gpu_real_part(R a) {
  return a;
}
template <class R> __host__ __device__ static inline R gpu_real_part(gpu_complex<R> a) {
  return a.re;
}
template <class R> __host__ __device__ static inline void gpu_set_real(R &a, R re) {
  a = re;
}
template <class R> __host__ __device__ static inline void gpu_set_real(gpu_complex<R> &a, R re) {
  a = {re, 0};
}
template <class R> __host__ __device__ static inline bool gpu_is_finite(R a) {
  return a - a == 0;
}
template <class R> __host__ __device__ static inline bool gpu_is_finite(gpu_complex<R> a) {
  return gpu_is_finite(a.re) && gpu_is_finite(a.im);
}
/* Returns |a|^2 in double. */
template <class R> __host__ __device__ static inline double gpu_square(R a) {
  return (double)a * (double)a;
}
template <class R> __host__ __device__ static inline double gpu_square(gpu_complex<R> a) {
  return gpu_square(a.re) + gpu_square(a.im);
}
/* Returns first ? a : b by value, so that a and b can stay in registers. */
template <class R> __host__ __device__ static inline R gpu_select(bool first, R a, R b) {
  return first ? a : b;
}
template <class R>
__host__ __device__ static inline gpu_complex<R> gpu_select(bool first, gpu_complex<R> a, gpu_complex<R> b) {
  return {first ? a.re : b.re, first ? a.im : b.im};
}
template <class R> __host__ __device__ static inline R gpu_conj(R a) {
  return a;
}
template <class R> __host__ __device__ static inline gpu_complex<R> gpu_conj(gpu_complex<R> a) {
  return {a.re, -a.im};
}
template <class R> __host__ __device__ static inline R gpu_scaled(double factor, R a) {
  return (R)(factor * a);
}
template <class R>
__host__ __device__ static inline gpu_complex<R> gpu_scaled(double factor, gpu_complex<R> a) {
  return {(R)(factor * a.re), (R)(factor * a.im)};
}
/* factor: real and imaginary part; a real number uses only the first. */
__host__ __device__ static inline double gpu_times(const double factor[2], double a) {
  return factor[0] * a;
}
__host__ __device__ static inline gpu_complex<double> gpu_times(const double factor[2],
                                                                gpu_complex<double> a) {
  return gpu_complex<double>{factor[0], factor[1]} * a;
}

template <class R>
__device__ static __forceinline__ gpu_complex<R> gpu_shuffle_xor(gpu_complex<R> v, unsigned mask,
                                                                 unsigned width, int line = GPU_LINE) {
  return {gpu_shuffle_xor(v.re, mask, width, line), gpu_shuffle_xor(v.im, mask, width, line)};
}
template <class R>
__device__ static __forceinline__ gpu_complex<R> gpu_shuffle(gpu_complex<R> v, unsigned lane, unsigned width,
                                                             int line = GPU_LINE) {
  return {gpu_shuffle(v.re, lane, width, line), gpu_shuffle(v.im, lane, width, line)};
}

template <class R>
__device__ static __forceinline__ void gpu_atomic_add(gpu_complex<R> *address, gpu_complex<R> value) {
  gpu_atomic_add(&address->re, value.re);
  gpu_atomic_add(&address->im, value.im);
}
template <class R>
__device__ static __forceinline__ void gpu_atomic_add_system(gpu_complex<R> *address, gpu_complex<R> value) {
  gpu_atomic_add_system(&address->re, value.re);
  gpu_atomic_add_system(&address->im, value.im);
}

#if !defined TSI_GPU_EMULATED
/* Loads a complex scalar of a panel at once: panels begin at multiples of 64 bytes. */
template <class R, class PAIR>
__device__ static __forceinline__ gpu_complex<R> gpu_load_pair(const gpu_complex<R> *address, bool active) {
  gpu_complex<R> v = {0, 0};
  if (active) {
#if defined __HIPCC__
    typedef R pair __attribute__((ext_vector_type(2)));
    const pair p = __builtin_nontemporal_load((const pair *)address);
    v.re = p[0], v.im = p[1];
#else
    const PAIR p = __ldcs((const PAIR *)address);
    v.re = p.x, v.im = p.y;
#endif
  }
  return v;
}
__device__ static __forceinline__ gpu_complex<float> gpu_load_panel(const gpu_complex<float> *address,
                                                                    bool active) {
  return gpu_load_pair<float, float2>(address, active);
}
__device__ static __forceinline__ gpu_complex<double> gpu_load_panel(const gpu_complex<double> *address,
                                                                     bool active) {
  return gpu_load_pair<double, double2>(address, active);
}
#endif
