// Correlation with windows of any size: one sum in float32 over the taps, rows of a window one after the other,
// fused in the first elements of a row as on the CPU.

template <class In, class Out> __device__ void correlate(const CorrelateSample* table, const CorrelateParam& param) {
    FOR_SAMPLES(s) {
        const CorrelateSample& sample = table[s];
        const float* window = (const float*)sample.window;
        Out* out = (Out*)sample.out;
        const int depth = sample.depth, height = sample.height, width = sample.width, channels = sample.channels;
        const i64 pitch = (i64)width * channels;
        FOR_ELEMENTS(i, sample.total) {
            Divided at = divide(i, channels);
            const int channel = at.rest;
            at = divide(at.quotient, sample.out_width);
            const int left = at.rest - sample.anchor_x;
            const bool fused = at.rest * channels + channel < sample.fused;
            at = divide(at.quotient, sample.out_height);
            const int top = at.rest - sample.anchor_y;
            at = divide(at.quotient, sample.out_depth);
            const int front = at.rest - sample.anchor_z;
            const In* data = (const In*)sample.data + at.quotient * depth * height * pitch + channel;
            const float* tap = window;
            float sum = 0.0f;
            for (int k = 0; k < sample.taps_z; ++k) {
                const int z = place_of(front + k, depth, param.border);
                for (int j = 0; j < sample.taps_y; ++j) {
                    const int y = place_of(top + j, height, param.border);
                    const In* row = data + ((i64)z * height + y) * pitch;
                    for (int n = 0; n < sample.taps_x; ++n) {
                        const int x = place_of(left + n, width, param.border);
                        const bool outside = x < 0 || y < 0 || z < 0;
                        const float value = outside ? sample.fill : (float)widen(row[(i64)x * channels]);
                        sum = fused ? fmaf(value, *tap, sum) : sum + value * *tap;
                        ++tap;
                    }
                }
            }
            out[i] = saturate<Out>(Traits<Out>::is_float ? sum : rintf(sum));
        }
    }
}
