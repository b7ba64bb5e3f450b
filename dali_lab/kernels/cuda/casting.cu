// Conversion of elements. The type of the output is chosen at run time: it is the same for a whole launch.

// Conversion by crop and slice: truncates fractions, and clamps to float16's range.
template <class Out, bool to_half, bool to_whole> struct Truncate {
    template <class V> static __device__ inline Out of(V value) { return saturate<Out>(value); }
};
template <class Out> struct Truncate<Out, false, true> {
    template <class V> static __device__ inline Out of(V value) {
        return Traits<V>::is_float ? saturate<Out>(trunc((double)value)) : saturate<Out>(value);
    }
};
template <class Out> struct Truncate<Out, true, false> {
    template <class V> static __device__ inline Out of(V value) {
        return saturate<Out>(clamp((float)value, -65504.0f, 65504.0f));
    }
};
template <class T> struct Kind { static const bool half = false, whole = !Traits<T>::is_float; };
template <> struct Kind<half> { static const bool half = true, whole = false; };
template <> struct Kind<bool> { static const bool half = false, whole = false; };

template <class In, class Out> __device__ void cast_sample(const CastSample& sample, int truncate) {
    const In* data = (const In*)sample.data;
    Out* out = (Out*)sample.out;
    FOR_ELEMENTS(i, sample.total) {
        if (truncate) {
            out[i] = Truncate<Out, Kind<Out>::half, Kind<Out>::whole>::of(widen(data[i]));
        } else {
            out[i] = saturate<Out>(widen(data[i]));
        }
    }
}

template <class In> __device__ void cast(const CastSample* table, const CastParam& param) {
    FOR_SAMPLES(s) {
        const CastSample& sample = table[s];
        switch (param.target) {
            case 0: cast_sample<In, bool>(sample, param.truncate); break;
            case 1: cast_sample<In, unsigned char>(sample, param.truncate); break;
            case 2: cast_sample<In, signed char>(sample, param.truncate); break;
            case 3: cast_sample<In, unsigned short>(sample, param.truncate); break;
            case 4: cast_sample<In, short>(sample, param.truncate); break;
            case 5: cast_sample<In, unsigned int>(sample, param.truncate); break;
            case 6: cast_sample<In, int>(sample, param.truncate); break;
            case 7: cast_sample<In, unsigned long long>(sample, param.truncate); break;
            case 8: cast_sample<In, long long>(sample, param.truncate); break;
            case 9: cast_sample<In, half>(sample, param.truncate); break;
            case 10: cast_sample<In, float>(sample, param.truncate); break;
            case 11: cast_sample<In, double>(sample, param.truncate); break;
        }
    }
}
