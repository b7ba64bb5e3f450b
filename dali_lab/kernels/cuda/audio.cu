// Sound: pre-emphasis, spectra, filter banks, decibels.

// y[t] = x[t] - c x[t - 1]; `border` chooses the value before the first element.
template <class T> __device__ void preemphasis(const PreemphasisSample* table, const PreemphasisParam& param) {
    FOR_SAMPLES(s) {
        const PreemphasisSample& sample = table[s];
        const T* x = (const T*)sample.data;
        T* out = (T*)sample.out;
        const T c = (T)sample.coefficient;
        FOR_ELEMENTS(i, sample.total) {
            T before = 0;
            if (i > 0) {
                before = x[i - 1];
            } else if (param.border == 1 || (param.border == 2 && sample.total == 1)) {
                before = x[0];
            } else if (param.border == 2) {
                before = x[1];
            }
            out[i] = c == 0 ? x[i] : x[i] - c * before;  // what is infinite would spoil the next element
        }
    }
}

// An index brought into [0, size) by reflection at the first and the last element.
__device__ inline i64 reflected(i64 index, i64 size) {
    if (size == 1) return 0;
    const i64 period = 2 * (size - 1);
    i64 rest = index % period;
    if (rest < 0) rest += period;
    return rest < size ? rest : period - rest;
}

// One thread a window and frequency: the sum of the transform as it is written, in float64.
__device__ void spectrum(const SpectrumSample* table, const SpectrumParam& param) {
    FOR_SAMPLES(s) {
        const SpectrumSample& sample = table[s];
        const float* x = (const float*)sample.data;
        const float* window = (const float*)sample.window;
        const double* waves = (const double*)sample.waves;
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, param.time_first ? (i64)param.bins : sample.count);
            const i64 time = param.time_first ? at.quotient : at.rest;
            const int bin = param.time_first ? at.rest : (int)at.quotient;
            const i64 start = time * param.step - param.before;
            double real = 0, imaginary = 0;
            int phase = 0;
            for (int k = 0; k < param.size; ++k) {
                i64 place = start + k;
                const bool inside = place >= 0 && place < sample.length;
                float value = 0.0f;
                if (inside || param.reflect) {
                    if (!inside) place = reflected(place, sample.length);
                    value = window[k] * x[place];
                }
                real += (double)value * waves[2 * phase];
                imaginary += (double)value * waves[2 * phase + 1];
                phase += bin;
                if (phase >= param.nfft) phase -= param.nfft;
            }
            const float power = (float)(real * real + imaginary * imaginary);
            out[i] = param.squared ? power : sqrtf(power);
        }
    }
}

// Weighted sums along the middle axis.
__device__ void filter_bank(const FilterBankSample* table, const FilterBankParam& param) {
    FOR_SAMPLES(s) {
        const FilterBankSample& sample = table[s];
        const float* x = (const float*)sample.data;
        const i64* bounds = (const i64*)sample.bounds;
        const float* weights = (const float*)sample.weights;
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided inner = divide(i, sample.inner);
            const Divided outer = divide(inner.quotient, param.filters);
            const float* line = x + outer.quotient * sample.length * sample.inner + inner.rest;
            const float* row = weights + (i64)outer.rest * param.pitch;
            float sum = 0.0f;
            for (i64 k = bounds[2 * outer.rest]; k < bounds[2 * outer.rest + 1]; ++k) sum += row[k] * line[k * sample.inner];
            out[i] = sum * ((const float*)sample.factors)[outer.rest];
        }
    }
}

__device__ void decibels(const DecibelsSample* table, const DecibelsParam& param) {
    FOR_SAMPLES(s) {
        const DecibelsSample& sample = table[s];
        const float* x = (const float*)sample.data;
        float* out = (float*)sample.out;
        float largest = *(const float*)sample.largest;
        if (largest == 0) largest = 1.0f;
        const float inverse = 1.0f / largest;
        FOR_ELEMENTS(i, sample.total) {
            const float ratio = x[i] * inverse;
            out[i] = log2f(ratio > param.floor ? ratio : param.floor) * param.scale;
        }
    }
}
