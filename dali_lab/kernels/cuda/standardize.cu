// Subtracts a mean and divides by a deviation; both are given, or come from reductions before.

// The factor for a deviation: it is given, or found from the sum of squared distances, whose number is `divisor`.
__device__ void inverse_deviation(const InverseDeviationSample* table, const InverseDeviationParam& param) {
    FOR_SAMPLES(s) {
        const InverseDeviationSample& sample = table[s];
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            if (param.found) {
                const double total = ((const double*)sample.data)[i];
                const double variance = (sample.divisor > 0 ? total / (double)sample.divisor : 0.0) + (double)param.epsilon;
                out[i] = variance > 0 ? (float)(1.0 / sqrt(variance)) : 0.0f;
            } else {
                const float deviation = ((const float*)sample.data)[i];
                out[i] = param.epsilon != 0 ? 1.0f / sqrtf(deviation * deviation + param.epsilon) : 1.0f / deviation;
            }
        }
    }
}

template <class In, class Out> __device__ void standardize(const StandardizeSample* table, const StandardizeParam& param) {
    FOR_SAMPLES(s) {
        const StandardizeSample& sample = table[s];
        const In* data = (const In*)sample.data;
        const float* means = (const float*)sample.mean;
        const float* inverses = (const float*)sample.inverse;
        Out* out = (Out*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            i64 rest = i, mean_at = 0, inverse_at = 0;
            for (int d = param.ndim - 1; d >= 0; --d) {
                const Divided cut = divide(rest, sample.shape[d]);
                rest = cut.quotient;
                mean_at += sample.mean_stride[d] * cut.rest;
                inverse_at += sample.inverse_stride[d] * cut.rest;
            }
            const float apart = ((float)widen(data[i]) - means[mean_at]) * (inverses[inverse_at] * param.scale);
            out[i] = saturate<Out>(param.shift != 0 ? apart + param.shift : apart);
        }
    }
}
