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

// Element `k` of the window that begins at `start`, weighted; beyond the ends the signal is reflected, or 0.
template <class Sample, class Param>
__device__ inline float in_window(const Sample& sample, const Param& param, i64 start, int k) {
    i64 place = start + k;
    if (place < 0 || place >= sample.length) {
        if (!param.reflect) return 0.0f;
        place = reflected(place, sample.length);
    }
    return ((const float*)sample.window)[k] * ((const float*)sample.data)[place];
}

template <class Sample, class Param>
__device__ inline void write_power(const Sample& sample, const Param& param, i64 time, int bin, float power) {
    const i64 place = param.time_first ? time * param.bins + bin : bin * sample.count + time;
    ((float*)sample.out)[place] = param.squared ? power : sqrtf(power);
}

// A block transforms two windows at a time, as the real and the imaginary parts of one complex signal, in shared memory.
// Stockham's steps: one of radix p leaves p transforms of a p-th of the length, whose elements stand `stride` apart, in
// order. Each thread sums up p products for an element of the result; `waves` has the nfft roots of 1.
template <int room> __device__ void spectrum(const SpectrumSample* table, const SpectrumParam& param) {
    __shared__ float real[2][room], imaginary[2][room];
    FOR_SAMPLES(s) {
        const SpectrumSample& sample = table[s];
        const float* waves = (const float*)sample.waves;
        const int nfft = param.nfft;
        for (i64 time = 2 * (i64)blockIdx.x; time < sample.count; time += 2 * (i64)gridDim.x) {
            const i64 start = time * param.step - param.before;
            const bool two = time + 1 < sample.count;
            FOR_BLOCK(k, nfft) {
                real[0][k] = k < param.size ? in_window(sample, param, start, k) : 0.0f;
                imaginary[0][k] = two && k < param.size ? in_window(sample, param, start + param.step, k) : 0.0f;
            }
            int from = 0, length = nfft, stride = 1;
            for (int step = 0; length > 1; ++step) {
                const int radix = param.radices[step], part = length / radix;
                __syncthreads();
                FOR_BLOCK(i, nfft) {
                    const int behind = i / stride, inner = i - behind * stride;
                    const int base = behind / radix, turn = behind - base * radix;
                    float re = 0.0f, im = 0.0f;
                    for (int j = 0; j < radix; ++j) {
                        const int at = base + part * j, place = inner + stride * at;
                        const int root = turn * at % length * stride;
                        const float c = waves[2 * root], d = waves[2 * root + 1];
                        const float a = real[from][place], b = imaginary[from][place];
                        re += a * c - b * d;
                        im += a * d + b * c;
                    }
                    real[1 - from][i] = re;
                    imaginary[1 - from][i] = im;
                }
                from = 1 - from;
                length = part;
                stride *= radix;
            }
            __syncthreads();
            FOR_BLOCK(k, param.bins) {
                const int other = k == 0 ? 0 : nfft - k;
                const float a = real[from][k], b = imaginary[from][k];
                const float c = real[from][other], d = imaginary[from][other];
                write_power(sample, param, time, k, 0.25f * ((a + c) * (a + c) + (b - d) * (b - d)));
                if (two) write_power(sample, param, time + 1, k, 0.25f * ((b + d) * (b + d) + (c - a) * (c - a)));
            }
            __syncthreads();
        }
    }
}

// For windows that do not fit into shared memory. One thread a window and frequency: the sum of the transform as it is
// written, in float64.
__device__ void long_spectrum(const LongSpectrumSample* table, const LongSpectrumParam& param) {
    FOR_SAMPLES(s) {
        const LongSpectrumSample& sample = table[s];
        const double* waves = (const double*)sample.waves;
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, sample.count);
            const i64 start = (i64)at.rest * param.step - param.before;
            double real = 0, imaginary = 0;
            int phase = 0;
            for (int k = 0; k < param.size; ++k) {
                const double value = in_window(sample, param, start, k);
                real += value * waves[2 * phase];
                imaginary += value * waves[2 * phase + 1];
                phase += (int)at.quotient;
                if (phase >= param.nfft) phase -= param.nfft;
            }
            write_power(sample, param, at.rest, (int)at.quotient, (float)(real * real + imaginary * imaginary));
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
