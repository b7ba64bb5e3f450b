// Convolution along one axis of volumes [outer, length, inner], the border reflected without repeating the edge. Sums
// are formed in float32, taps in ascending order; the windows of all passes are float32.

__device__ inline int reflected(int index, int size) {
    if (size == 1) return 0;
    while (index < 0 || index >= size) index = index < 0 ? -index : 2 * size - 2 - index;
    return index;
}

// A product before summation: rounded for float16.
template <class T> __device__ inline float weighed(float weight, T value) { return weight * (float)widen(value); }
template <> __device__ inline float weighed<half>(float weight, half value) {
    return half_to_float(float_to_half(weight * half_to_float(value.bits)));
}

// The sum of a line's elements under a window, `first` being where the window begins.
template <class T>
__device__ inline float under_window(const T* line, i64 step, int length, int first, const float* window, int taps) {
    float sum;
    if (first >= 0 && first + taps <= length) {
        line += first * step;
        sum = weighed(window[0], *line);
        for (int k = 1; k < taps; ++k) sum += weighed(window[k], line[k * step]);
    } else {
        sum = weighed(window[0], line[reflected(first, length) * step]);
        for (int k = 1; k < taps; ++k) sum += weighed(window[k], line[reflected(first + k, length) * step]);
    }
    return sum;
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
            const float sum = under_window(line, step, length, along.rest - taps / 2, window, taps);
            out[i] = saturate<Out>(sum);
        }
    }
}

// Along x and then along y in one launch: a block computes a tile of the result. The convolution along x of its rows,
// and of those in the window's reach, stays in shared memory. A tile is COLUMNS elements of a row by LINES rows.
enum { COLUMNS = 64, LINES = 32 };

template <class In, bool to_float, int rows>
__device__ void convolve_plane(const ConvolvePlaneSample* table, const ConvolvePlaneParam& param) {
    typedef typename Chosen<to_float, float, In>::Type Out;
    __shared__ float across[rows * COLUMNS];
    FOR_SAMPLES(s) {
        const ConvolvePlaneSample& sample = table[s];
        const float *window_x = (const float*)sample.window_x, *window_y = (const float*)sample.window_y;
        const int width = sample.width, height = sample.height, channels = sample.channels;
        const int taps_x = sample.taps_x, taps_y = sample.taps_y, pitch = width * channels;
        const int tiles_x = (pitch + COLUMNS - 1) / COLUMNS, tiles_y = (height + LINES - 1) / LINES;
        for (i64 tile = blockIdx.x; tile < sample.tiles; tile += gridDim.x) {
            const Divided column_of = divide(tile, tiles_x);
            const Divided line_of = divide(column_of.quotient, tiles_y);
            const i64 plane = line_of.quotient * height * pitch;
            const In* data = (const In*)sample.data + plane;
            Out* out = (Out*)sample.out + plane;
            const int left = column_of.rest * COLUMNS, top = line_of.rest * LINES;
            const int columns = smaller((int)COLUMNS, pitch - left), lines = smaller((int)LINES, height - top);
            FOR_BLOCK(i, (lines + taps_y - 1) * COLUMNS) {
                const int column = i % COLUMNS, at = left + column, x = at / channels;
                if (column >= columns) continue;
                const int row = reflected(top - taps_y / 2 + i / COLUMNS, height);
                const In* line = data + (i64)row * pitch + (at - x * channels);
                across[i] = under_window(line, channels, width, x - taps_x / 2, window_x, taps_x);
            }
            __syncthreads();
            FOR_BLOCK(i, lines * COLUMNS) {
                const int column = i % COLUMNS;
                if (column >= columns) continue;
                float sum = window_y[0] * across[i];
                for (int k = 1; k < taps_y; ++k) sum += window_y[k] * across[i + k * COLUMNS];
                out[(i64)(top + i / COLUMNS) * pitch + left + column] = saturate<Out>(sum);
            }
            __syncthreads();
        }
    }
}

__device__ void add_scaled(const AddScaledSample* table, const AddScaledParam& param) {
    FOR_SAMPLES(s) {
        const AddScaledSample& sample = table[s];
        const float* data = (const float*)sample.data;
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const float scaled = data[i] * sample.scale;
            const float sum = param.fresh ? scaled : scaled + out[i];
            out[i] = param.halves ? half_to_float(float_to_half(sum)) : sum;
        }
    }
}
