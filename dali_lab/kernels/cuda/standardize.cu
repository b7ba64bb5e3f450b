// Subtracts a mean and divides by a deviation; both are given, or come from reductions before.

template <class In, class Out> __device__ void standardize(const StandardizeSample* table, const StandardizeParam& param) {
    FOR_SAMPLES(s) {
        const StandardizeSample& sample = table[s];
        const In* data = (const In*)sample.data;
        const float* means = (const float*)sample.mean;
        Out* out = (Out*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            i64 rest = i, mean_at = 0, spread_at = 0;
            for (int d = param.ndim - 1; d >= 0; --d) {
                const Divided cut = divide(rest, sample.shape[d]);
                rest = cut.quotient;
                mean_at += sample.mean_stride[d] * cut.rest;
                spread_at += sample.spread_stride[d] * cut.rest;
            }
            float inverse;
            if (param.found) {
                const double total = ((const double*)sample.spread)[spread_at];
                const double variance = (sample.divisor > 0 ? total / (double)sample.divisor : 0.0) + (double)param.epsilon;
                inverse = variance > 0 ? (float)(1.0 / sqrt(variance)) : 0.0f;
            } else {
                const float deviation = ((const float*)sample.spread)[spread_at];
                inverse = param.epsilon != 0 ? 1.0f / sqrtf(deviation * deviation + param.epsilon) : 1.0f / deviation;
            }
            const float apart = ((float)widen(data[i]) - means[mean_at]) * (inverse * param.scale);
            out[i] = saturate<Out>(param.shift != 0 ? apart + param.shift : apart);
        }
    }
}
