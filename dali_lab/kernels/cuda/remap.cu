// Pixels taken from where two maps say, as OpenCV takes them; outside there is 0.

// Weight of a neighbour by its distance: linear, or Keys' cubic with a slope of -3/4.
__device__ inline float weight_at(float distance, bool cubic) {
    const float d = fabsf(distance);
    if (!cubic) return 1.0f - d;
    if (d <= 1.0f) return (1.25f * d - 2.25f) * d * d + 1.0f;
    return -0.75f * (((d - 5.0f) * d + 8.0f) * d - 4.0f);
}

template <class T> __device__ void remap(const RemapSample* table, const RemapParam& param) {
    const float* weights = (const float*)param.weights;
    FOR_SAMPLES(s) {
        const RemapSample& sample = table[s];
        const T* data = (const T*)sample.data;
        const float* columns = (const float*)sample.columns;
        const float* rows = (const float*)sample.rows;
        const int height = sample.height, width = sample.width, channels = sample.channels;
        FOR_ELEMENTS(i, sample.total) {
            T* out = (T*)sample.out + i * channels;
            const float x = columns[i] - param.shift, y = rows[i] - param.shift;
            if (param.taps == 1) {
                const int column = whole(rintf(x)), row = whole(rintf(y));
                const bool inside = row >= 0 && row < height && column >= 0 && column < width;
                const T* pixel = data + (inside ? ((i64)row * width + column) * channels : 0);
                for (int c = 0; c < channels; ++c) out[c] = inside ? pixel[c] : (T)0;
                continue;
            }
            int left, top, part_x = 0, part_y = 0;
            float share_x = 0.0f, share_y = 0.0f;
            if (param.parts) {
                // Positions at parts of a pixel, with a row of weights for each of them.
                const int at_x = whole(rintf(x * (float)param.parts)), at_y = whole(rintf(y * (float)param.parts));
                left = whole((float)at_x / (float)param.parts);
                top = whole((float)at_y / (float)param.parts);
                part_x = clamp(at_x - left * param.parts, 0, param.parts - 1) * param.taps;
                part_y = clamp(at_y - top * param.parts, 0, param.parts - 1) * param.taps;
            } else {
                left = whole(x);
                top = whole(y);
                share_x = x - (float)left;
                share_y = y - (float)top;
            }
            const int before = param.taps / 2 - 1;
            const bool cubic = param.taps == 4;
            left -= before;
            top -= before;
            for (int c = 0; c < channels; ++c) {
                float sum = 0.0f;
                for (int j = 0; j < param.taps; ++j) {
                    const int row = top + j;
                    if (row < 0 || row >= height) continue;
                    float line = 0.0f;
                    for (int k = 0; k < param.taps; ++k) {
                        const int column = left + k;
                        if (column < 0 || column >= width) continue;
                        const float weight = param.parts ? weights[part_x + k] : weight_at(share_x + (float)(before - k), cubic);
                        line += weight * (float)widen(data[((i64)row * width + column) * channels + c]);
                    }
                    const float weight = param.parts ? weights[part_y + j] : weight_at(share_y + (float)(before - j), cubic);
                    sum += weight * line;
                }
                out[c] = saturate<T>(Traits<T>::is_float ? sum : rintf(sum));
            }
        }
    }
}
