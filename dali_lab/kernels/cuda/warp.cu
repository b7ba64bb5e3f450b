// Warping images by affine maps and projections: positions of the output are mapped to positions of the input. Pixel
// centres are at halves. Along a row positions are stepped in float32, from a new start every 256 columns.

enum { SPAN = 8 };

__device__ inline float stepped(float start, float step, int column) {
    for (int i = 256; i <= column; i += 256) start += step * 256.0f;
    for (int i = column & 255; i > 0; --i) start += step;
    return start;
}

struct Picture {
    int height, width, channels;
    bool clamped;
    __device__ bool find(int& row, int& column) const {
        if (clamped) {
            row = clamp(row, 0, height - 1);
            column = clamp(column, 0, width - 1);
        }
        return row >= 0 && row < height && column >= 0 && column < width;
    }
    __device__ i64 at(int row, int column) const { return ((i64)row * width + column) * channels; }
};

// The pixel that holds the position (x, y).
template <class In, class Out>
__device__ inline void nearest_pixel(
    const In* data, Out* out, const Picture& shape, const float* fill, int fills, float x, float y) {
    int column = whole(x), row = whole(y);
    const bool inside = shape.find(row, column);
    const In* pixel = data + (inside ? shape.at(row, column) : 0);
    for (int c = 0; c < shape.channels; ++c) {
        out[c] = inside ? saturate<Out>(widen(pixel[c])) : saturate<Out>(fill[smaller(c, fills - 1)]);
    }
}

// The blend of the four pixels around the position (x, y).
template <class In, class Out>
__device__ inline void linear_blend(
    const In* data, Out* out, const Picture& shape, const float* fill, int fills, float x, float y) {
    x -= 0.5f;
    y -= 0.5f;
    int left = whole(x), top = whole(y);
    const float qx = x - (float)left, px = 1.0f - qx, qy = y - (float)top;
    int right = left + 1, bottom = top + 1;
    if (shape.clamped) {
        shape.find(top, left);
        shape.find(bottom, right);
    }
    const bool has_left = left >= 0 && left < shape.width, has_right = right >= 0 && right < shape.width;
    const bool has_top = top >= 0 && top < shape.height, has_bottom = bottom >= 0 && bottom < shape.height;
    for (int c = 0; c < shape.channels; ++c) {
        const float outside = (float)widen(saturate<In>(fill[smaller(c, fills - 1)]));
        float a = outside, b = outside, d = outside, e = outside;
        if (has_top && has_left) a = (float)widen(data[shape.at(top, left) + c]);
        if (has_top && has_right) b = (float)widen(data[shape.at(top, right) + c]);
        if (has_bottom && has_left) d = (float)widen(data[shape.at(bottom, left) + c]);
        if (has_bottom && has_right) e = (float)widen(data[shape.at(bottom, right) + c]);
        const float upper = a * px + b * qx, lower = d * px + e * qx;
        out[c] = saturate<Out>(upper + (lower - upper) * qy);
    }
}

template <class In, class Out> __device__ void warp_image(const WarpImageSample* table, const WarpImageParam& param) {
    FOR_SAMPLES(s) {
        const WarpImageSample& sample = table[s];
        const float* m = sample.matrix;
        const float* fill = (const float*)sample.fill;
        const int height = sample.height, width = sample.width, channels = sample.channels;
        const i64 line = (i64)width * channels;
        const Picture shape = {height, width, channels, param.clamp && height > 0 && width > 0};
        // A thread has a few pixels of a row, as only the first one's position takes many steps.
        FOR_ELEMENTS(i, sample.total) {
            Divided at = divide(i, (sample.out_width + SPAN - 1) / SPAN);
            const int first = at.rest * SPAN, end = smaller(first + (int)SPAN, sample.out_width);
            const i64 row = at.quotient;
            at = divide(row, sample.out_height);
            const float y = (float)at.rest + 0.5f;
            const In* data = (const In*)sample.data + at.quotient * height * line;
            Out* out = (Out*)sample.out + (row * sample.out_width + first) * channels;
            const float left = (m[2] + m[0] * 0.5f) + m[1] * y, top = (m[5] + m[3] * 0.5f) + m[4] * y;
            float u = stepped(left, m[0], first), v = stepped(top, m[3], first);
            for (int column = first; column < end; ++column, out += channels) {
                if (param.projective) {
                    const float x = (float)column + 0.5f;
                    const float w = (m[8] + m[6] * x) + m[7] * y;
                    u = ((m[2] + m[0] * x) + m[1] * y) / w;
                    v = ((m[5] + m[3] * x) + m[4] * y) / w;
                } else if (column > first) {
                    u += m[0];
                    v += m[3];
                }
                if (sample.linear) {
                    linear_blend(data, out, shape, fill, param.fills, u, v);
                } else {
                    nearest_pixel(data, out, shape, fill, param.fills, u, v);
                }
            }
        }
    }
}

// The sphere and water effects; water shifts rows along x and columns along y, by tables.
template <class T> __device__ void displace(const DisplaceSample* table, const DisplaceParam& param) {
    const float* fill = (const float*)param.fill;
    const float* shift_x = (const float*)param.shift_x;
    const float* shift_y = (const float*)param.shift_y;
    FOR_SAMPLES(s) {
        const DisplaceSample& sample = table[s];
        const T* data = (const T*)sample.data;
        const int channels = sample.channels;
        const Picture shape = {sample.height, sample.width, channels, false};
        const float middle_x = (float)sample.width * 0.5f, middle_y = (float)sample.height * 0.5f;
        const float radius = (float)(int)larger(middle_x, middle_y);
        FOR_ELEMENTS(i, sample.total) {
            T* out = (T*)sample.out + i * channels;
            if (!sample.chosen) {
                for (int c = 0; c < channels; ++c) out[c] = data[i * channels + c];
                continue;
            }
            const Divided at = divide(i, sample.width);
            const int row = (int)at.quotient;
            float u, v;
            if (param.sphere) {
                const float along = (float)at.rest + 0.5f - middle_x, across = (float)row + 0.5f - middle_y;
                const float factor = sqrtf(along * along + across * across) / radius;
                u = middle_x + factor * along;
                v = middle_y + factor * across;
            } else {
                u = (float)at.rest + shift_x[row];
                v = (float)row + shift_y[at.rest];
            }
            if (param.linear) {
                linear_blend(data, out, shape, fill, 1, u, v);
            } else {
                nearest_pixel(data, out, shape, fill, 1, u, v);
            }
        }
    }
}
