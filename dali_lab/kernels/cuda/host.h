// Lets a C++ compiler build a kernel for the host: blocks and threads become loops around it.
#pragma once

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__ __restrict
// A block that shares memory has one thread here (Kernel.shares), which is by itself at the end of what all do; with
// HOST_BARRIER its threads run at once, so that races among them can be looked for.
#define __shared__ static
#ifdef HOST_BARRIER
#define HOST_INDEX static thread_local HostIndex
#define __syncthreads() HOST_BARRIER
#else
#define HOST_INDEX static HostIndex
#define __syncthreads() ((void)0)
#endif

struct HostIndex {
    int x, y, z;
};
HOST_INDEX blockIdx = {0, 0, 0};
HOST_INDEX threadIdx = {0, 0, 0};
HOST_INDEX blockDim = {1, 1, 1};
HOST_INDEX gridDim = {1, 1, 1};

#define HOST_LOOP(across, down, threads)                             \
    gridDim = {across, down, 1};                                     \
    blockDim = {threads, 1, 1};                                      \
    for (blockIdx.y = 0; blockIdx.y < (down); ++blockIdx.y)          \
        for (blockIdx.x = 0; blockIdx.x < (across); ++blockIdx.x)    \
            for (threadIdx.x = 0; threadIdx.x < (threads); ++threadIdx.x)

static inline int __float_as_int(float value) { int bits; __builtin_memcpy(&bits, &value, 4); return bits; }
static inline float __int_as_float(int bits) { float value; __builtin_memcpy(&value, &bits, 4); return value; }
static inline unsigned int __umulhi(unsigned int a, unsigned int b) { return (unsigned int)(((unsigned long long)a * b) >> 32); }

#ifndef __clang__
#define __builtin_assume(condition) ((void)0)
#endif

// One thread after the other: nothing is in the way of an update.
template <class T> static inline T atomicAdd(T* where, T value) { T old = *where; *where = old + value; return old; }
template <class T> static inline T atomicMin(T* where, T value) { T old = *where; if (value < old) *where = value; return old; }
template <class T> static inline T atomicMax(T* where, T value) { T old = *where; if (value > old) *where = value; return old; }

#define floorf __builtin_floorf
#define ceilf __builtin_ceilf
#define truncf __builtin_truncf
#define rintf __builtin_rintf
#define fabsf __builtin_fabsf
#define sqrtf __builtin_sqrtf
#define fminf __builtin_fminf
#define fmaxf __builtin_fmaxf
#define expf __builtin_expf
#define logf __builtin_logf
#define powf __builtin_powf
#define sinf __builtin_sinf
#define cosf __builtin_cosf
#define fmodf __builtin_fmodf
#define floor __builtin_floor
#define ceil __builtin_ceil
#define trunc __builtin_trunc
#define rint __builtin_rint
#define fabs __builtin_fabs
#define sqrt __builtin_sqrt
#define exp __builtin_exp
#define log __builtin_log
#define log10 __builtin_log10
#define pow __builtin_pow
#define sin __builtin_sin
#define cos __builtin_cos
#define fmod __builtin_fmod
#define cbrt __builtin_cbrt
#define log2 __builtin_log2
#define tan __builtin_tan
#define asin __builtin_asin
#define acos __builtin_acos
#define atan __builtin_atan
#define atan2 __builtin_atan2
#define sinh __builtin_sinh
#define cosh __builtin_cosh
#define tanh __builtin_tanh
#define asinh __builtin_asinh
#define acosh __builtin_acosh
#define atanh __builtin_atanh
#define cbrtf __builtin_cbrtf
#define log2f __builtin_log2f
#define log10f __builtin_log10f
#define tanf __builtin_tanf
#define asinf __builtin_asinf
#define acosf __builtin_acosf
#define atanf __builtin_atanf
#define atan2f __builtin_atan2f
#define sinhf __builtin_sinhf
#define coshf __builtin_coshf
#define tanhf __builtin_tanhf
#define asinhf __builtin_asinhf
#define acoshf __builtin_acoshf
#define atanhf __builtin_atanhf
#define fmaf __builtin_fmaf
#define fmaf __builtin_fmaf
#define fma __builtin_fma
#define lgamma __builtin_lgamma
