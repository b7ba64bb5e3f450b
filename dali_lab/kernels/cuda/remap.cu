// Samples pictures at fractional positions as OpenCV does: positions are given by two maps, or by
// a projection. Pixel centres are at whole numbers.

// A picture with a border mode; a constant border has a value for each channel (0 if none).
template <class T> struct Continued {
    const T* data;
    int height, width, channels, border;
    const float* fill;
    int fills;
    __device__ T at(int row, int column, int channel) const {
        row = place_of(row, height, border);
        column = place_of(column, width, border);
        if (row >= 0 && column >= 0) return data[((i64)row * width + column) * channels + channel];
        return fills ? saturate<T>(fill[smaller(channel, fills - 1)]) : (T)0;
    }
};

// A position, and the nearest one at parts of a pixel, counted in parts.
struct Position {
    float x, y;
    int parts_x, parts_y;
};

// Keys' cubic with a slope of -3/4, by the distance.
__device__ inline float cubic_weight(float distance) {
    const float d = fabsf(distance);
    if (d <= 1.0f) return (1.25f * d - 2.25f) * d * d + 1.0f;
    return -0.75f * (((d - 5.0f) * d + 8.0f) * d - 4.0f);
}

// The floor of a quotient by a positive number.
__device__ inline int floor_of(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// Between four neighbours: each step is one multiplication and addition with one rounding, as in OpenCV's vector code.
template <class T> __device__ inline float linear_at(const Continued<T>& picture, float x, float y, int channel) {
    const int left = whole(x), top = whole(y);
    const float a = x - (float)left, b = y - (float)top;
    const float nw = (float)widen(picture.at(top, left, channel)), ne = (float)widen(picture.at(top, left + 1, channel));
    const float sw = (float)widen(picture.at(top + 1, left, channel));
    const float se = (float)widen(picture.at(top + 1, left + 1, channel));
    const float upper = fmaf(a, ne - nw, nw), lower = fmaf(a, se - sw, sw);
    return fmaf(b, lower - upper, upper);
}

template <class T> __device__ inline float cubic_at(const Continued<T>& picture, float x, float y, int channel) {
    const int left = whole(x), top = whole(y);
    const float a = x - (float)left, b = y - (float)top;
    float sum = 0.0f;
    for (int j = -1; j < 3; ++j) {
        float line = 0.0f;
        for (int k = -1; k < 3; ++k)
            line += cubic_weight(a - (float)k) * (float)widen(picture.at(top + j, left + k, channel));
        sum += cubic_weight(b - (float)j) * line;
    }
    return sum;
}

// At parts of a pixel, with a row of weights for each part; for two taps the sum runs over all four neighbours.
template <class T>
__device__ inline float parts_at(
    const Continued<T>& picture, const Position& at, int channel, int taps, int parts, const float* weights) {
    const int left = floor_of(at.parts_x, parts), top = floor_of(at.parts_y, parts), before = taps / 2 - 1;
    const float* across = weights + (at.parts_x - left * parts) * taps;
    const float* down = weights + (at.parts_y - top * parts) * taps;
    float sum = 0.0f;
    for (int j = 0; j < taps; ++j) {
        float line = taps == 2 ? sum : 0.0f;
        for (int k = 0; k < taps; ++k)
            line += down[j] * across[k] * (float)widen(picture.at(top + j - before, left + k - before, channel));
        sum = taps == 2 ? line : sum + line;
    }
    return sum;
}

// Neighbours along each axis: 1 for the nearest one, 2 for linear, 4 for cubic, 8 for Lanczos interpolation.
template <class T, class Param>
__device__ inline void take(const Continued<T>& picture, const Position& at, const Param& param, T* out) {
    const float* weights = (const float*)param.weights;
    if (param.taps == 1) {
        const int row = whole(rintf(at.y)), column = whole(rintf(at.x));
        for (int c = 0; c < picture.channels; ++c) out[c] = picture.at(row, column, c);
        return;
    }
    for (int c = 0; c < picture.channels; ++c) {
        // OpenCV processes up to four channels at a time, and two of them at quantised positions.
        const bool pair = picture.channels - (c & ~3) == 2;
        float value;
        if (param.taps == 8 || (param.taps == 2 && (param.parted || pair))) {
            value = parts_at(picture, at, c, param.taps, param.parts, weights);
            if (param.taps == 2 && sizeof(T) == 1) value = floorf(value + 0.5f);
        } else {
            value = param.taps == 2 ? linear_at(picture, at.x, at.y, c) : cubic_at(picture, at.x, at.y, c);
        }
        out[c] = saturate<T>(Traits<T>::is_float ? value : rintf(value));
    }
}

template <class T> __device__ void remap(const RemapSample* table, const RemapParam& param) {
    const float parts = (float)param.parts;
    FOR_SAMPLES(s) {
        const RemapSample& sample = table[s];
        const float* columns = (const float*)sample.columns;
        const float* rows = (const float*)sample.rows;
        const Continued<T> picture = {
            (const T*)sample.data, sample.height, sample.width, sample.channels, CONSTANT, (const float*)0, 0};
        FOR_ELEMENTS(i, sample.total) {
            const float x = columns[i] - param.shift, y = rows[i] - param.shift;
            const Position at = {x, y, whole(rintf(x * parts)), whole(rintf(y * parts))};
            take(picture, at, param, (T*)sample.out + i * sample.channels);
        }
    }
}

// The integer nearest to a position.
__device__ inline int nearest(double position) {
    const double known = position == position ? position : -1e9;
    return (int)rint(clamp(known, -1e9, 1e9));
}

// Each pixel (x, y) of the result is taken from (x, y, 1) times the matrix, divided by the third.
template <class T> __device__ void project(const ProjectSample* table, const ProjectParam& param) {
    const float* fill = (const float*)param.fill;
    FOR_SAMPLES(s) {
        const ProjectSample& sample = table[s];
        const double* m = sample.matrix;
        const i64 plane = (i64)sample.height * sample.width * sample.channels;
        FOR_ELEMENTS(i, sample.total) {
            const Divided across = divide(i, sample.out_width), down = divide(across.quotient, sample.out_height);
            const int column = across.rest, row = down.rest;
            const float x = (float)column, y = (float)row;
            const float w = fmaf(x, (float)m[6], y * (float)m[7] + (float)m[8]);
            Position at = {
                fmaf(x, (float)m[0], y * (float)m[1] + (float)m[2]) / w,
                fmaf(x, (float)m[3], y * (float)m[4] + (float)m[5]) / w, 0, 0};
            if (param.parted || (sample.channels & 3) == 2) {
                const double depth = m[6] * column + m[7] * row + m[8], scale = depth != 0.0 ? 1.0 / depth : 0.0;
                const double u = (m[0] * column + m[1] * row + m[2]) * scale;
                const double v = (m[3] * column + m[4] * row + m[5]) * scale;
                at.parts_x = nearest(u * param.parts);
                at.parts_y = nearest(v * param.parts);
                if (param.taps == 1) {
                    at.x = (float)nearest(u);
                    at.y = (float)nearest(v);
                }
            }
            const Continued<T> picture = {
                (const T*)sample.data + down.quotient * plane, sample.height, sample.width, sample.channels,
                param.border, fill, param.fills};
            take(picture, at, param, (T*)sample.out + i * sample.channels);
        }
    }
}
