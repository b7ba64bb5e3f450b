// Parts of all kernels: loops over samples and elements, float16, and NVIDIA DALI's saturating conversion.
// The same text is compiled for GPUs (NVRTC) and for the host; products and sums are never contracted.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// A launch has the samples along y and the elements of the largest sample along x.
#define FOR_SAMPLES(index) for (int index = blockIdx.y; index < param.count; index += gridDim.y)
#define FOR_ELEMENTS(index, total)                                                                   \
    for (i64 index = (i64)blockIdx.x * blockDim.x + threadIdx.x, index##_end = (total); index < index##_end; \
         index += (i64)gridDim.x * blockDim.x)
// The threads of a block share these; on the host a block that shares memory has one thread.
#define FOR_BLOCK(index, total) for (int index = threadIdx.x; index < (total); index += blockDim.x)

// Division of a position by an extent, in 32 bits where they suffice (a GPU has no 64-bit division).
struct Divided {
    i64 quotient;
    int rest;
};
__device__ inline Divided divide(i64 position, i64 extent) {
    if ((u64)(position | extent) <= 0xffffffffu) {
        const u32 quotient = (u32)position / (u32)extent;
        return {quotient, (int)((u32)position - quotient * (u32)extent)};
    }
    const i64 quotient = position / extent;
    return {quotient, (int)(position - quotient * extent)};
}

// Chooses one of two types.
template <bool first, class A, class B> struct Chosen { typedef A Type; };
template <class A, class B> struct Chosen<false, A, B> { typedef B Type; };

template <class T> __device__ inline T smaller(T a, T b) { return b < a ? b : a; }
template <class T> __device__ inline T larger(T a, T b) { return a < b ? b : a; }
template <class T> __device__ inline T clamp(T value, T low, T high) { return smaller(larger(value, low), high); }

// float16, stored as its bits.
struct half {
    u16 bits;
};

__device__ inline float half_to_float(u16 bits) {
    const u32 magnitude = bits & 0x7fffu;
    const u32 sign = (u32)(bits & 0x8000u) << 16;
    u32 wide;
    if (magnitude >= 0x7c00u) {
        wide = (magnitude << 13) + 0x70000000u;
    } else if (magnitude >= 0x400u) {
        wide = (magnitude << 13) + 0x38000000u;
    } else {
        wide = (u32)__float_as_int((float)magnitude * 5.9604644775390625e-8f);
    }
    return __int_as_float((int)(wide | sign));
}

// Rounded half away from zero; beyond 65504 infinite.
__device__ inline u16 float_to_half(float value) {
    const u32 bits = (u32)__float_as_int(value);
    const u32 magnitude = bits & 0x7fffffffu;
    const u32 sign = (bits >> 16) & 0x8000u;
    u32 result;
    if (magnitude > 0x7f800000u) {
        result = 0x7e00u;
    } else if (magnitude >= 0x47800000u) {
        result = 0x7c00u;
    } else if (magnitude >= 0x38800000u) {
        result = (magnitude - 0x38000000u + 0x1000u) >> 13;
    } else {
        const float scaled = __int_as_float((int)magnitude) * 16777216.0f;
        const u32 whole = (u32)scaled;
        result = scaled - (float)whole >= 0.5f ? whole + 1u : whole;
    }
    return (u16)(result | sign);
}

// Element types and the types they are computed in.
template <class T> struct Traits;
#define INTEGER(T, LEAST, MOST, UNDEFINED)                     \
    template <> struct Traits<T> {                             \
        typedef T Wide;                                        \
        static const bool is_float = false;                    \
        static __device__ T least() { return (T)(LEAST); }     \
        static __device__ T most() { return (T)(MOST); }       \
        static __device__ T undefined() { return (T)(UNDEFINED); } \
    };
INTEGER(unsigned char, 0, 255, 0)
INTEGER(signed char, -128, 127, 0)
INTEGER(unsigned short, 0, 65535, 0)
INTEGER(short, -32768, 32767, 0)
INTEGER(unsigned int, 0, 4294967295u, 0)
INTEGER(int, -2147483647 - 1, 2147483647, -2147483647 - 1)
INTEGER(unsigned long long, 0, 18446744073709551615ull, 9223372036854775808ull)
INTEGER(long long, -9223372036854775807ll - 1, 9223372036854775807ll, -9223372036854775807ll - 1)
#undef INTEGER
template <> struct Traits<bool> { typedef u8 Wide; static const bool is_float = false; };
template <> struct Traits<half> { typedef float Wide; static const bool is_float = true; };
template <> struct Traits<float> { typedef float Wide; static const bool is_float = true; };
template <> struct Traits<double> { typedef double Wide; static const bool is_float = true; };

// An element as a number to compute with: float16 as float, a bool as 0 or 1.
template <class T> __device__ inline typename Traits<T>::Wide widen(T value) { return value; }
template <> __device__ inline float widen<half>(half value) { return half_to_float(value.bits); }
template <> __device__ inline u8 widen<bool>(bool value) { return value ? 1 : 0; }

__device__ inline float round_away(float value) {
    const float whole = truncf(value), rest = value - whole;
    return whole + truncf(rest + rest);
}
__device__ inline double round_away(double value) {
    const double whole = trunc(value), rest = value - whole;
    return whole + trunc(rest + rest);
}

// A number as an element: rounded half away from zero, and clamped.
template <class T, class V, bool from_float> struct Saturate;
template <class T, class V> struct Saturate<T, V, true> {
    static __device__ inline T of(V value) {
        if (value >= (V)Traits<T>::most()) return Traits<T>::most();
        if (value <= (V)Traits<T>::least()) return Traits<T>::least();
        if (value != value) return Traits<T>::undefined();
        return (T)round_away(value);
    }
};
template <class T, class V> struct Saturate<T, V, false> {
    static __device__ inline T of(V value) {
        if (value < 0) return (i64)value < (i64)Traits<T>::least() ? Traits<T>::least() : (T)value;
        return (u64)value > (u64)Traits<T>::most() ? Traits<T>::most() : (T)value;
    }
};
template <class V> struct Saturate<bool, V, true> {
    static __device__ inline bool of(V value) { return !(fabs((double)value) < 0.5); }
};
template <class V> struct Saturate<bool, V, false> {
    static __device__ inline bool of(V value) { return value != 0; }
};
#define TO_FLOAT(T, CONVERSION)                                                            \
    template <class V> struct Saturate<T, V, true> {                                       \
        static __device__ inline T of(V value) { return CONVERSION; }                      \
    };                                                                                     \
    template <class V> struct Saturate<T, V, false> {                                      \
        static __device__ inline T of(V value) { return CONVERSION; }                      \
    };
__device__ inline half make_half(float value) { half result = {float_to_half(value)}; return result; }
TO_FLOAT(half, make_half((float)value))
TO_FLOAT(float, (float)value)
TO_FLOAT(double, (double)value)
#undef TO_FLOAT
template <class T, class V> __device__ inline T saturate(V value) {
    return Saturate<T, V, Traits<V>::is_float>::of(value);
}

// The type that elements are computed in, and the conversion back: float16 is rounded to even.
template <class T> struct Number {
    typedef T Type;
    static __device__ inline T from(T value) { return value; }
};
template <> struct Number<half> {
    typedef float Type;
    static __device__ inline half from(float value) {
        const u32 bits = (u32)__float_as_int(value);
        const u32 magnitude = bits & 0x7fffffffu;
        u32 result;
        if (magnitude > 0x7f800000u) {
            result = 0x7e00u;
        } else if (magnitude >= 0x477ff000u) {
            result = 0x7c00u;
        } else if (magnitude >= 0x38800000u) {
            result = (magnitude - 0x38000000u + 0x0fffu + ((magnitude >> 13) & 1u)) >> 13;
        } else {
            result = (u32)rintf(__int_as_float((int)magnitude) * 16777216.0f);
        }
        return {(u16)(result | ((bits >> 16) & 0x8000u))};
    }
};

// The floor of a position as an integer, safe for positions beyond all images and for NaN.
__device__ inline int whole(float position) {
    const float known = position == position ? position : -1e9f;
    return (int)floorf(clamp(known, -1e9f, 1e9f));
}

// Border modes: how an axis is extended beyond its ends.
enum { CONSTANT, REPLICATE, REFLECT, WRAP, REFLECT_101 };

// The element at `index` of the axis extended by a border mode; -1 for none.
__device__ inline int place_of(int index, int size, int border) {
    if (index >= 0 && index < size) return index;
    if (border == CONSTANT) return -1;
    if (border == REPLICATE || size == 1) return index < 0 ? 0 : size - 1;
    const int period = border == WRAP ? size : border == REFLECT_101 ? 2 * size - 2 : 2 * size;
    int place = index % period;
    if (place < 0) place += period;
    if (border == WRAP || place < size) return place;
    return (border == REFLECT_101 ? period : period - 1) - place;
}
