// Expressions element by element, by the rules of dali_lab/kernels/cpu/arithmetic.py: operands become the type of the
// result first (FLOAT16 too, which is then computed with in float), integers wrap as in C. An integer divided by zero
// gives 0 here.

template <class V> struct Converted {
    template <class S> static __device__ inline V of(S value) { return (V)value; }
};
template <> struct Converted<bool> {
    template <class S> static __device__ inline bool of(S value) { return value != 0; }
};

// A number as an operand of a result of type T.
template <class T> struct Operand {
    static __device__ inline T of(T value) { return value; }
};
template <> struct Operand<half> {
    static __device__ inline float of(float value) { return half_to_float(Number<half>::from(value).bits); }
};

// An element of any type as a number; `kind` is the place of its type in NUMBERS.
template <class V> __device__ inline V load(const void* data, int kind, i64 index) {
    switch (kind) {
        case 0: return Converted<V>::of(((const u8*)data)[index] != 0);
        case 1: return Converted<V>::of(((const unsigned char*)data)[index]);
        case 2: return Converted<V>::of(((const signed char*)data)[index]);
        case 3: return Converted<V>::of(((const unsigned short*)data)[index]);
        case 4: return Converted<V>::of(((const short*)data)[index]);
        case 5: return Converted<V>::of(((const unsigned int*)data)[index]);
        case 6: return Converted<V>::of(((const int*)data)[index]);
        case 7: return Converted<V>::of(((const u64*)data)[index]);
        case 8: return Converted<V>::of(((const i64*)data)[index]);
        case 9: return Converted<V>::of(half_to_float(((const u16*)data)[index]));
        case 10: return Converted<V>::of(((const float*)data)[index]);
        default: return Converted<V>::of(((const double*)data)[index]);
    }
}

// Integer arithmetic wraps, so it is done on unsigned integers.
template <class V, bool is_float> struct Whole {
    static __device__ inline V add(V a, V b) { return (V)((u64)a + (u64)b); }
    static __device__ inline V subtract(V a, V b) { return (V)((u64)a - (u64)b); }
    static __device__ inline V multiply(V a, V b) { return (V)((u64)a * (u64)b); }
    static __device__ inline V quotient(V a, V b) {
        if (b == 0) return 0;
        if ((V)-1 < 0 && b == (V)-1) return subtract(0, a);
        return (V)(a / b);
    }
    static __device__ inline V remainder(V a, V b) {
        if (b == 0 || ((V)-1 < 0 && b == (V)-1)) return 0;
        return (V)(a % b);
    }
    static __device__ inline V power(V base, V exponent) {
        if (exponent < 0) return 0;
        u64 result = 1, factor = (u64)base, rest = (u64)exponent;
        for (; rest; rest >>= 1, factor *= factor) {
            if (rest & 1) result *= factor;
        }
        return (V)result;
    }
    static __device__ inline V negative(V a) { return subtract(0, a); }
    static __device__ inline V absolute(V a) { return a < 0 ? subtract(0, a) : a; }
    static __device__ inline int places(V count) { return (int)count & (sizeof(V) == 8 ? 63 : 31); }
    static __device__ inline V left(V a, V count) {
        return sizeof(V) == 8 ? (V)((u64)a << places(count)) : (V)((u32)a << places(count));
    }
    static __device__ inline V right(V a, V count) { return (V)(a >> places(count)); }
    static __device__ inline V both(V a, V b) { return (V)(a & b); }
    static __device__ inline V either(V a, V b) { return (V)(a | b); }
    static __device__ inline V different(V a, V b) { return (V)(a ^ b); }
    static __device__ inline V inverse(V a) { return (V)~a; }
};
template <> struct Whole<bool, false> {
    static __device__ inline bool add(bool a, bool b) { return a || b; }
    static __device__ inline bool subtract(bool a, bool b) { return a != b; }
    static __device__ inline bool multiply(bool a, bool b) { return a && b; }
    static __device__ inline bool quotient(bool a, bool b) { return a && b; }
    static __device__ inline bool remainder(bool a, bool b) { return false; }
    static __device__ inline bool power(bool a, bool b) { return a || !b; }
    static __device__ inline bool negative(bool a) { return a; }
    static __device__ inline bool absolute(bool a) { return a; }
    static __device__ inline bool left(bool a, bool b) { return a; }
    static __device__ inline bool right(bool a, bool b) { return a && !b; }
    static __device__ inline bool both(bool a, bool b) { return a && b; }
    static __device__ inline bool either(bool a, bool b) { return a || b; }
    static __device__ inline bool different(bool a, bool b) { return a != b; }
    static __device__ inline bool inverse(bool a) { return !a; }
};
template <class V> struct Whole<V, true> {
    static __device__ inline V add(V a, V b) { return a + b; }
    static __device__ inline V subtract(V a, V b) { return a - b; }
    static __device__ inline V multiply(V a, V b) { return a * b; }
    static __device__ inline V quotient(V a, V b) { return a / b; }
    static __device__ inline V remainder(V a, V b) { return (V)fmod((double)a, (double)b); }
    static __device__ inline V power(V a, V b) { return (V)pow((double)a, (double)b); }
    static __device__ inline V negative(V a) { return -a; }
    static __device__ inline V absolute(V a) { return (V)fabs((double)a); }
    static __device__ inline V left(V a, V) { return a; }
    static __device__ inline V right(V a, V) { return a; }
    static __device__ inline V both(V a, V) { return a; }
    static __device__ inline V either(V a, V) { return a; }
    static __device__ inline V different(V a, V) { return a; }
    static __device__ inline V inverse(V a) { return a; }
};

// In the order of _OPERATIONS in arithmetic.py. The groups are compiled apart.
enum {
    ADD, SUB, MUL, FDIV, MIN, MAX, CLAMP, PLUS, MINUS, ABS, FABS, FLOOR, CEIL, SQRT,
    DIV, MOD, POW, FPOW, BITAND, BITOR, BITXOR, LSHIFT, RSHIFT, BITNOT,
    RSQRT, CBRT, EXP, LOG, LOG2, LOG10, SIN, COS, TAN, ASIN, ACOS, ATAN, SINH, COSH, TANH, ASINH, ACOSH, ATANH, ATAN2
};
enum { COMMON, WHOLE, FUNCTIONS };

// Functions of one float, in the precision of the type.
__device__ inline float function(int operation, float x, float other) {
    switch (operation) {
        case CBRT: return cbrtf(x);
        case EXP: return expf(x);
        case LOG: return logf(x);
        case LOG2: return log2f(x);
        case LOG10: return log10f(x);
        case SIN: return sinf(x);
        case COS: return cosf(x);
        case TAN: return tanf(x);
        case ASIN: return asinf(x);
        case ACOS: return acosf(x);
        case ATAN: return atanf(x);
        case SINH: return sinhf(x);
        case COSH: return coshf(x);
        case TANH: return tanhf(x);
        case ASINH: return asinhf(x);
        case ACOSH: return acoshf(x);
        case ATANH: return atanhf(x);
        case ATAN2: return atan2f(x, other);
        case RSQRT: {
            // A float32 that is 0 or infinite gives NaN, as NVIDIA DALI's refinement step makes of it.
            const float root = 1.0f / sqrtf(x);
            return root == 0.0f || fabsf(root) > 3.4028235e38f ? __int_as_float(0x7fc00000) : root;
        }
        default: return x;
    }
}
__device__ inline double function(int operation, double x, double other) {
    switch (operation) {
        case CBRT: return cbrt(x);
        case EXP: return exp(x);
        case LOG: return log(x);
        case LOG2: return log2(x);
        case LOG10: return log10(x);
        case SIN: return sin(x);
        case COS: return cos(x);
        case TAN: return tan(x);
        case ASIN: return asin(x);
        case ACOS: return acos(x);
        case ATAN: return atan(x);
        case SINH: return sinh(x);
        case COSH: return cosh(x);
        case TANH: return tanh(x);
        case ASINH: return asinh(x);
        case ACOSH: return acosh(x);
        case ATANH: return atanh(x);
        case ATAN2: return atan2(x, other);
        case RSQRT: return 1.0 / sqrt(x);
        default: return x;
    }
}
__device__ inline float rounded_root(float x) { return sqrtf(x); }
__device__ inline double rounded_root(double x) { return sqrt(x); }

// Functions of floats only.
template <class V, bool is_float> struct Function {
    static __device__ inline V of(int, V x, V) { return x; }
    static __device__ inline V common(int, V x) { return x; }
};
template <class V> struct Function<V, true> {
    static __device__ inline V of(int operation, V x, V other) { return function(operation, x, other); }
    static __device__ inline V common(int operation, V x) {
        return operation == FLOOR ? (V)floor((double)x) : operation == CEIL ? (V)ceil((double)x) : rounded_root(x);
    }
};

// One operation; `group` excludes the others at compile time.
template <class T, class V, int group> __device__ inline V result_of(int operation, V a, V b, V high) {
    typedef Whole<V, Traits<T>::is_float> W;
    typedef Function<V, Traits<T>::is_float> F;
    if (group == FUNCTIONS) return F::of(operation, a, b);
    if (group == WHOLE) {
        switch (operation) {
            case DIV: return W::quotient(a, b);
            case MOD: return W::remainder(a, b);
            case POW: return W::power(a, b);
            case FPOW: return W::power(a, b);
            case BITAND: return W::both(a, b);
            case BITOR: return W::either(a, b);
            case BITXOR: return W::different(a, b);
            case LSHIFT: return W::left(a, b);
            case RSHIFT: return W::right(a, b);
            default: return W::inverse(a);
        }
    }
    switch (operation) {
        case ADD: return W::add(a, b);
        case SUB: return W::subtract(a, b);
        case MUL: return W::multiply(a, b);
        case FDIV: return W::quotient(a, b);
        case MIN: return a < b ? a : b;
        case MAX: return a > b ? a : b;
        case CLAMP: {
            const V raised = a < b ? b : a;
            return raised > high ? high : raised;
        }
        case PLUS: return a;
        case MINUS: return W::negative(a);
        case ABS: return W::absolute(a);
        case FABS: return W::absolute(a);
        default: return F::common(operation, a);
    }
}

// Offsets into the operands of an element of the result.
struct Places {
    i64 a, b, c;
};
template <class Sample> __device__ inline Places places_of(const Sample& sample, int ndim, i64 element) {
    Places at = {0, 0, 0};
    i64 rest = element;
    for (int d = ndim - 1; d >= 0; --d) {
        const Divided cut = divide(rest, sample.shape[d]);
        rest = cut.quotient;
        at.a += sample.stride_a[d] * cut.rest;
        at.b += sample.stride_b[d] * cut.rest;
        at.c += sample.stride_c[d] * cut.rest;
    }
    return at;
}

// −1, 0 or 1 for less, equal and greater; 2 where one of two floats is NaN.
template <class V> struct Order {
    static __device__ inline int of(V a, bool, V b, bool) { return a < b ? -1 : a > b ? 1 : a == b ? 0 : 2; }
};
template <> struct Order<i64> {
    static __device__ inline int of(i64 a, bool a_unsigned, i64 b, bool b_unsigned) {
        // An unsigned 64-bit integer beyond the range of signed ones came out negative.
        const bool a_large = a_unsigned && a < 0, b_large = b_unsigned && b < 0;
        if (a_large != b_large) return a_large ? 1 : -1;
        return a < b ? -1 : a > b;
    }
};

// Whether a number came from a negative integer while the other is a float: then it is below that, whatever that is.
template <class V> __device__ inline bool below_floats(V value, int kind) {
    return value < 0 && (kind == 2 || kind == 4 || kind == 6 || kind == 8);
}
template <> __device__ inline bool below_floats<i64>(i64, int) { return false; }

enum { EQ, NEQ, LT, LEQ, GT, GEQ };

// A number rounded to float16, where both operands are promoted to it.
template <class V> __device__ inline V narrowed(V value, bool) { return value; }
template <> __device__ inline float narrowed<float>(float value, bool half_precision) {
    return half_precision ? half_to_float(Number<half>::from(value).bits) : value;
}

// Whether the order of a and b satisfies a comparison.
__device__ inline bool holds(int operation, int order) {
    switch (operation) {
        case EQ: return order == 0;
        case NEQ: return order != 0;
        case LT: return order == -1;
        case LEQ: return order == -1 || order == 0;
        case GT: return order == 1;
        default: return order == 1 || order == 0;
    }
}

// A comparison of two numbers, given what they were read from: places of their types in NUMBERS.
template <class V> __device__ inline bool compared(int operation, V a, int kind_a, V b, int kind_b) {
    const int order = below_floats(a, kind_a) ? -1
                    : below_floats(b, kind_b) ? 1
                    : Order<V>::of(a, kind_a == 7, b, kind_b == 7);
    return holds(operation, order);
}

// The remainder of an integer and a float is found in float64.
template <class T> __device__ inline T mixed_remainder(double a, double b) {
    return Number<T>::from((typename Number<T>::Type)fmod(a, b));
}

// Steps of an expression on elements in registers.
template <class T, int group, int operation, class A, class B, class C> __device__ inline T step(A a, B b, C c) {
    typedef typename Number<T>::Type V;
    typedef Converted<V> To;
    typedef Operand<T> As;
    const V x = As::of(To::of(widen(a))), y = As::of(To::of(widen(b))), z = As::of(To::of(widen(c)));
    return Number<T>::from(result_of<T, V, group>(operation, x, y, z));
}
template <class T, class A, class B> __device__ inline T step_mixed_remainder(A a, B b) {
    return mixed_remainder<T>(Converted<double>::of(widen(a)), Converted<double>::of(widen(b)));
}
template <class V, int operation, bool half_precision, int kind_a, int kind_b, class A, class B>
__device__ inline bool step_comparison(A a, B b) {
    const V x = narrowed(Converted<V>::of(widen(a)), half_precision);
    return compared(operation, x, kind_a, narrowed(Converted<V>::of(widen(b)), half_precision), kind_b);
}
