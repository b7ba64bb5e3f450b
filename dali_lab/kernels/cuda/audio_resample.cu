// Resampling of sound by a windowed sinc from a table, in the order of sums of dali_lab/kernels/cpu/audio_resample.py.

template <class T> __device__ void to_unit(const ToUnitSample* table, const ToUnitParam& param) {
    FOR_SAMPLES(s) {
        const T* data = (const T*)table[s].data;
        float* out = (float*)table[s].out;
        FOR_ELEMENTS(i, table[s].total) {
            const float value = (float)data[i] * param.slope + param.offset;
            out[i] = param.halve ? (value + 1.0f) * 0.5f : value;
        }
    }
}

template <class T> __device__ void from_unit(const FromUnitSample* table, const FromUnitParam& param) {
    FOR_SAMPLES(s) {
        const float* data = (const float*)table[s].data;
        T* out = (T*)table[s].out;
        FOR_ELEMENTS(i, table[s].total) {
            const double value = data[i] * param.full;
            out[i] = saturate<T>(trunc(value + (value < 0 ? -0.5 : 0.5)));
        }
    }
}

struct Sinc {
    const float* table;
    float steps, center;
    __device__ float at(float x) const {
        const float place = x * steps + center;
        const int entry = (int)place;
        return table[entry] + (place - (float)entry) * (table[entry + 1] - table[entry]);
    }
};

__device__ void resample_sound(const ResampleSoundSample* table, const ResampleSoundParam& param) {
    const Sinc sinc = {(const float*)param.sinc, param.steps, param.center};
    FOR_SAMPLES(s) {
        const ResampleSoundSample& sample = table[s];
        float* out = (float*)sample.out;
        const int channels = sample.channels;
        const float step = (float)sample.scale;
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, channels);
            // Positions are counted from the beginning of a block of 256 elements.
            const i64 start = at.quotient / 256 * 256;
            const double exact = (double)start * sample.scale;
            const i64 base = (i64)floor(exact);
            float position = (float)(exact - (double)base);
            for (int k = (int)(at.quotient - start); k > 0; --k) position += step;
            const int first = (int)larger((i64)ceilf(position) - param.lobes, -base);
            const int last = (int)smaller((i64)ceilf(position) + param.lobes, sample.length - base);
            const float* sound = (const float*)sample.data + base * channels + at.rest;
            float total = 0.0f;
            int n = first;
            if (channels == 1) {
                // Four independent partial sums.
                float t0 = 0.0f, t1 = 0.0f, t2 = 0.0f, t3 = 0.0f;
                float x0 = (float)n - position, x1 = (float)(n + 1) - position;
                float x2 = (float)(n + 2) - position, x3 = (float)(n + 3) - position;
                for (; n + 3 < last; n += 4) {
                    t0 += sound[n] * sinc.at(x0);
                    t1 += sound[n + 1] * sinc.at(x1);
                    t2 += sound[n + 2] * sinc.at(x2);
                    t3 += sound[n + 3] * sinc.at(x3);
                    x0 += 4.0f;
                    x1 += 4.0f;
                    x2 += 4.0f;
                    x3 += 4.0f;
                }
                total = (t0 + t2) + (t1 + t3);
            }
            float x = (float)n - position;
            for (; n < last; ++n) {
                total += sound[(i64)n * channels] * sinc.at(x);
                x += 1.0f;
            }
            out[i] = total;
        }
    }
}
