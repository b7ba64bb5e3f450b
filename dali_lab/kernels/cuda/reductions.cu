// Sums, means, extremes and deviations along axes: partial results first, then their reduction.
// Floats add up in float64; integers wrap in 64 bits, which the type of the result cuts off.

enum { SUM, SQUARES, SPREAD, LEAST, MOST };
enum { TOTAL, MEAN, ROOT_MEAN, VARIANCE, DEVIATION, EXTREME };

template <class Acc> struct Start {
    static __device__ inline Acc least() { return Traits<Acc>::least(); }
    static __device__ inline Acc most() { return Traits<Acc>::most(); }
};
template <> struct Start<double> {
    static __device__ inline double least() { return -1.7976931348623157e308; }
    static __device__ inline double most() { return 1.7976931348623157e308; }
};

// A float truncated to an integer as on x86-64: NaN and values out of range give the lowest one. A GPU would clamp.
__device__ inline i64 cut(double value) {
    const double bound = 9223372036854775808.0;
    return value >= -bound && value < bound ? (i64)value : -9223372036854775807ll - 1;
}
template <class To> struct Cut {
    template <class V> static __device__ inline To of(V value) { return (To)value; }
};
template <> struct Cut<i64> {
    template <class V> static __device__ inline i64 of(V value) {
        return Traits<V>::is_float ? cut((double)value) : (i64)value;
    }
};
template <> struct Cut<u64> {
    template <class V> static __device__ inline u64 of(V value) {
        if (!Traits<V>::is_float) return (u64)value;
        const double bound = 9223372036854775808.0, number = (double)value;
        return number >= bound ? (u64)cut(number - bound) ^ (1ull << 63) : (u64)cut(number);
    }
};

// The squared distance from a mean: in float64 for float64, else in float32.
template <class In> __device__ inline double apart(In value, float mean) {
    const float distance = (float)widen(value) - mean;
    return (double)(distance * distance);
}
template <> __device__ inline double apart<double>(double value, float mean) {
    const double distance = value - (double)mean;
    return distance * distance;
}

// A square by the rules of C: small integers wrap as int, others in 64 bits.
template <class Number> __device__ inline double squared(Number value) { return (double)value * (double)value; }
__device__ inline double squared(half value) { return squared(widen(value)); }
__device__ inline int squared(bool value) { return value; }
__device__ inline int squared(unsigned char value) { return (int)((u32)value * value); }
__device__ inline int squared(signed char value) { return (int)value * value; }
__device__ inline int squared(unsigned short value) { return (int)((u32)value * value); }
__device__ inline int squared(short value) { return (int)value * value; }
__device__ inline u64 squared(unsigned int value) { return (u64)value * value; }
__device__ inline i64 squared(int value) { return (i64)value * value; }
__device__ inline u64 squared(u64 value) { return value * value; }
__device__ inline i64 squared(i64 value) { return (i64)((u64)value * (u64)value); }
template <class Acc> __device__ inline Acc together(Acc a, Acc b) { return (Acc)((u64)a + (u64)b); }
template <> __device__ inline double together<double>(double a, double b) { return a + b; }

// A comparison with NaN is false, so NaN is skipped.
template <class Acc> __device__ inline Acc combined(int mode, Acc a, Acc b) {
    if (mode == LEAST) return b < a ? b : a;
    if (mode == MOST) return b > a ? b : a;
    return together(a, b);
}
template <class Acc> __device__ inline Acc beginning(int mode, double start) { return mode < LEAST ? (Acc)0 : (Acc)start; }

template <class In, class Acc> __device__ void reduce_part(const ReducePartSample* table, const ReducePartParam& param) {
    FOR_SAMPLES(s) {
        const ReducePartSample& sample = table[s];
        const In* data = (const In*)sample.data;
        const float* means = (const float*)sample.means;
        const Acc* start = (const Acc*)sample.start;
        Acc* out = (Acc*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            // Neighbouring threads read neighbouring elements: those of neighbouring outputs, or of one output.
            const Divided at = divide(i, param.abreast ? sample.total / param.parts : (i64)param.parts);
            const i64 output = param.abreast ? at.rest : at.quotient;
            i64 rest = output, base = 0;
            for (int d = param.ndim - 1; d >= 0; --d) {
                const Divided cut = divide(rest, sample.kept[d]);
                rest = cut.quotient;
                base += sample.kept_stride[d] * cut.rest;
            }
            const float mean = param.mode == SPREAD ? means[output * sample.mean_stride] : 0.0f;
            Acc total = start[0];
            for (i64 j = param.abreast ? at.quotient : at.rest; j < sample.length; j += param.parts) {
                i64 left = j, offset = base;
                for (int d = param.ndim - 1; d >= 0; --d) {
                    const Divided cut = divide(left, sample.gone[d]);
                    left = cut.quotient;
                    offset += sample.gone_stride[d] * cut.rest;
                }
                const In value = data[offset];
                if (param.mode == SPREAD) {
                    total = together(total, Cut<Acc>::of(apart(value, mean)));
                } else if (param.mode == SQUARES) {
                    total = together(total, Cut<Acc>::of(squared(value)));
                } else {
                    total = combined(param.mode, total, Cut<Acc>::of(widen(value)));
                }
            }
            out[i] = total;
        }
    }
}

// A sum over a number of elements: times the reciprocal, in float32 unless the result is float64.
template <class Out> __device__ inline double over_count(double total, i64 count) {
    return (double)((float)total * (1.0f / (float)count));
}
template <> __device__ inline double over_count<double>(double total, i64 count) { return total * (1.0 / (double)count); }

template <class Out> __device__ inline Out element(double value) { return (Out)cut(value); }
template <> __device__ inline unsigned long long element<unsigned long long>(double value) { return Cut<u64>::of(value); }
template <> __device__ inline bool element<bool>(double value) { return value != 0; }
template <> __device__ inline half element<half>(double value) { return Number<half>::from((float)value); }
template <> __device__ inline float element<float>(double value) { return (float)value; }
template <> __device__ inline double element<double>(double value) { return value; }

template <class Acc, class Out> struct Plain {
    static __device__ inline Out of(Acc value) { return (Out)value; }
};
template <class Acc> struct Plain<Acc, half> {
    static __device__ inline half of(Acc value) { return Number<half>::from((float)value); }
};
template <class Acc> struct Plain<Acc, bool> {
    static __device__ inline bool of(Acc value) { return value != 0; }
};
template <class Out> struct Widened {
    static __device__ inline double of(Out value) { return (double)widen(value); }
};

// The result of an output, from the sum or the extreme of its elements.
template <class Acc, class Out> __device__ inline Out finished(Acc total, int kind, i64 count) {
    if (kind == TOTAL || kind == EXTREME) return Plain<Acc, Out>::of(total);
    if (Traits<Out>::is_float) {
        double value = over_count<Out>((double)total, count);
        if (kind == ROOT_MEAN || kind == DEVIATION) {
            value = sizeof(Out) == 8 ? sqrt(value) : (double)sqrtf((float)value);
        }
        return element<Out>(value);
    }
    // The sum has wrapped in the type of the result.
    const double wrapped = Widened<Out>::of(Plain<Acc, Out>::of(total));
    float value = count ? (float)over_count<float>(wrapped, count) : 0.0f;
    if (kind == ROOT_MEAN) value = sqrtf(value);
    return element<Out>(value);
}

// Few parts are added up by a thread for each output; many by a block, in a tree.
enum { FEW_PARTS = 16, MOST_THREADS = 256 };

template <class Acc, class Out> __device__ void reduce_end(const ReduceEndSample* table, const ReduceEndParam& param) {
    __shared__ Acc sums[MOST_THREADS];
    FOR_SAMPLES(s) {
        const ReduceEndSample& sample = table[s];
        const Acc* parts = (const Acc*)sample.parts;
        Out* out = (Out*)sample.out;
        const i64 step = param.abreast ? sample.total : 1, pitch = param.abreast ? 1 : param.parts;
        if (param.parts <= FEW_PARTS) {
            FOR_ELEMENTS(i, sample.total) {
                Acc total = parts[i * pitch];
                for (int p = 1; p < param.parts; ++p) total = combined(param.mode, total, parts[i * pitch + p * step]);
                out[i] = finished<Acc, Out>(total, param.kind, sample.count);
            }
            continue;
        }
        for (i64 i = blockIdx.x; i < sample.total; i += gridDim.x) {
            const int threads = smaller((int)blockDim.x, param.parts);
            FOR_BLOCK(t, threads) {
                Acc total = parts[i * pitch + t * step];
                for (int p = t + threads; p < param.parts; p += threads) {
                    total = combined(param.mode, total, parts[i * pitch + p * step]);
                }
                sums[t] = total;
            }
            for (int left = threads; left > 1;) {
                const int half_of_them = (left + 1) / 2;
                __syncthreads();
                FOR_BLOCK(t, left / 2) sums[t] = combined(param.mode, sums[t], sums[t + half_of_them]);
                left = half_of_them;
            }
            __syncthreads();
            FOR_BLOCK(t, 1) out[i] = finished<Acc, Out>(sums[0], param.kind, sample.count);
            __syncthreads();
        }
    }
}
