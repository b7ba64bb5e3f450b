// Non-silent regions: moving mean squares, their maximum, and the first and last above the threshold.

template <class In, class Acc> __device__ void mean_squares(const MeanSquaresSample* table, const MeanSquaresParam& param) {
    const float factor = 1.0f / (float)param.window;
    FOR_SAMPLES(s) {
        const MeanSquaresSample& sample = table[s];
        const In* data = (const In*)sample.data;
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            // Each thread has the windows that end at `first` to `last`; its sum moves on from one to the next.
            const i64 first = i * sample.run, last = smaller(first + sample.run, sample.length) - 1;
            Acc total = 0;
            for (i64 t = larger(first - param.window + 1, 0ll); t <= first; ++t) {
                const Acc value = (Acc)data[t];
                total += value * value;
            }
            out[first] = (float)total * factor;
            for (i64 t = first + 1; t <= last; ++t) {
                const Acc entering = (Acc)data[t];
                const Acc leaving = t >= param.window ? (Acc)data[t - param.window] : (Acc)0;
                total -= leaving * leaving;
                total += entering * entering;
                out[t] = (float)total * factor;
            }
        }
    }
}

// The maximum over every `parts`-th element.
__device__ void largest_part(const LargestPartSample* table, const LargestPartParam& param) {
    FOR_SAMPLES(s) {
        const float* power = (const float*)table[s].power;
        float* out = (float*)table[s].out;
        FOR_ELEMENTS(i, param.parts) {
            float most = table[s].length > 0 ? power[0] : 0.0f;
            for (i64 t = i; t < table[s].length; t += param.parts)
                if (power[t] > most) most = power[t];
            out[i] = most;
        }
    }
}

// The first and the last non-silent element of every `parts`-th one.
__device__ void loud_part(const LoudPartSample* table, const LoudPartParam& param) {
    FOR_SAMPLES(s) {
        const LoudPartSample& sample = table[s];
        const float* power = (const float*)sample.power;
        const float* most = (const float*)sample.most;
        int* out = (int*)sample.out;
        FOR_ELEMENTS(i, param.parts) {
            float base = param.reference;
            if (base == 0.0f) {
                base = most[0];
                for (int k = 1; k < param.parts; ++k)
                    if (most[k] > base) base = most[k];
            }
            const float threshold = base * param.ratio;
            int first = (int)sample.length, last = -1;
            for (i64 t = i; t < sample.length; t += param.parts) {
                if (!(power[t] >= threshold)) continue;
                first = smaller(first, (int)t);
                last = (int)t;
            }
            out[2 * i] = first;
            out[2 * i + 1] = last;
        }
    }
}

__device__ void loud_region(const LoudRegionSample* table, const LoudRegionParam& param) {
    FOR_SAMPLES(s) {
        const LoudRegionSample& sample = table[s];
        const int* places = (const int*)sample.places;
        FOR_ELEMENTS(i, 1) {
            int first = (int)sample.length, last = -1;
            for (int k = 0; k < param.parts; ++k) {
                first = smaller(first, places[2 * k]);
                last = larger(last, places[2 * k + 1]);
            }
            const int begin = last < 0 ? 0 : larger(first - param.window + 1, 0);
            *(int*)sample.out_begin = begin;
            *(int*)sample.out_length = last < 0 ? 0 : last + 1 - begin;
        }
    }
}
