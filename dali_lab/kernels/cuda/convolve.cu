// Convolution along one axis of volumes [outer, length, inner], the border reflected without repeating the edge. Sums
// are formed in float32, taps in ascending order; the windows of all passes are float32.

__device__ inline int reflected(int index, int size) {
    if (size == 1) return 0;
    while (index < 0 || index >= size) index = index < 0 ? -index : 2 * size - 2 - index;
    return index;
}

template <class In, class Out> __device__ void convolve_axis(const ConvolveAxisSample* table, const ConvolveAxisParam& param) {
    FOR_SAMPLES(s) {
        const ConvolveAxisSample& sample = table[s];
        const float* window = (const float*)sample.window;
        Out* out = (Out*)sample.out;
        const i64 step = sample.inner;
        const int taps = sample.taps, length = sample.length;
        FOR_ELEMENTS(i, sample.total) {
            const Divided across = divide(i, step);
            const Divided along = divide(across.quotient, length);
            const In* line = (const In*)sample.data + along.quotient * length * step + across.rest;
            const int first = along.rest - taps / 2;
            float sum;
            if (first >= 0 && first + taps <= length) {
                line += first * step;
                sum = window[0] * (float)widen(*line);
                for (int k = 1; k < taps; ++k) sum += window[k] * (float)widen(line[k * step]);
            } else {
                sum = window[0] * (float)widen(line[reflected(first, length) * step]);
                for (int k = 1; k < taps; ++k) sum += window[k] * (float)widen(line[reflected(first + k, length) * step]);
            }
            out[i] = saturate<Out>(sum);
        }
    }
}

__device__ void accumulate(const AccumulateSample* table, const AccumulateParam& param) {
    FOR_SAMPLES(s) {
        const AccumulateSample& sample = table[s];
        const float* data = (const float*)sample.data;
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) out[i] += data[i];
    }
}
