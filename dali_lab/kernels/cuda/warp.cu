// Warping images by affine maps and projections: positions of the output are mapped to positions of the input. Pixel
// centres are at halves. Along a row positions are stepped in float32, from a new start every 256 columns.

__device__ inline float stepped(float start, float step, int column) {
    for (int i = 256; i <= column; i += 256) start += step * 256.0f;
    for (int i = column & 255; i > 0; --i) start += step;
    return start;
}

template <class In, class Out> __device__ void warp_image(const WarpImageSample* table, const WarpImageParam& param) {
    FOR_SAMPLES(s) {
        const WarpImageSample& sample = table[s];
        const float* m = sample.matrix;
        const float* fill = (const float*)sample.fill;
        const int height = sample.height, width = sample.width, channels = sample.channels;
        const i64 line = (i64)width * channels;
        const bool clamped = param.clamp && height > 0 && width > 0;
        FOR_ELEMENTS(i, sample.total) {
            Divided at = divide(i, sample.out_width);
            const int column = at.rest;
            at = divide(at.quotient, sample.out_height);
            const float y = (float)at.rest + 0.5f;
            const In* data = (const In*)sample.data + at.quotient * height * line;
            Out* out = (Out*)sample.out + i * channels;
            float u, v;
            if (param.projective) {
                const float x = (float)column + 0.5f;
                const float w = (m[8] + m[6] * x) + m[7] * y;
                u = ((m[2] + m[0] * x) + m[1] * y) / w;
                v = ((m[5] + m[3] * x) + m[4] * y) / w;
            } else {
                u = stepped((m[2] + m[0] * 0.5f) + m[1] * y, m[0], column);
                v = stepped((m[5] + m[3] * 0.5f) + m[4] * y, m[3], column);
            }
            if (!sample.linear) {
                int left = whole(u), top = whole(v);
                if (clamped) {
                    left = clamp(left, 0, width - 1);
                    top = clamp(top, 0, height - 1);
                }
                const bool inside = left >= 0 && left < width && top >= 0 && top < height;
                const In* pixel = data + top * line + (i64)left * channels;
                for (int c = 0; c < channels; ++c) {
                    out[c] = inside ? saturate<Out>(widen(pixel[c])) : saturate<Out>(fill[smaller(c, param.fills - 1)]);
                }
                continue;
            }
            u -= 0.5f;
            v -= 0.5f;
            int left = whole(u), top = whole(v);
            const float qx = u - (float)left, px = 1.0f - qx, qy = v - (float)top;
            int right = left + 1, bottom = top + 1;
            if (clamped) {
                left = clamp(left, 0, width - 1);
                right = clamp(right, 0, width - 1);
                top = clamp(top, 0, height - 1);
                bottom = clamp(bottom, 0, height - 1);
            }
            const bool has_left = left >= 0 && left < width, has_right = right >= 0 && right < width;
            const bool has_top = top >= 0 && top < height, has_bottom = bottom >= 0 && bottom < height;
            for (int c = 0; c < channels; ++c) {
                const float outside = (float)widen(saturate<In>(fill[smaller(c, param.fills - 1)]));
                float a = outside, b = outside, d = outside, e = outside;
                if (has_top && has_left) a = (float)widen(data[top * line + (i64)left * channels + c]);
                if (has_top && has_right) b = (float)widen(data[top * line + (i64)right * channels + c]);
                if (has_bottom && has_left) d = (float)widen(data[bottom * line + (i64)left * channels + c]);
                if (has_bottom && has_right) e = (float)widen(data[bottom * line + (i64)right * channels + c]);
                const float upper = a * px + b * qx, lower = d * px + e * qx;
                out[c] = saturate<Out>(upper + (lower - upper) * qy);
            }
        }
    }
}
