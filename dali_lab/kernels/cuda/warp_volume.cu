// Warping volumes by affine maps, as images in warp.cu: linear interpolation blends along x, then y, then z.

__device__ inline float stepped(float start, float step, int column) {
    for (int i = 256; i <= column; i += 256) start += step * 256.0f;
    for (int i = column & 255; i > 0; --i) start += step;
    return start;
}

struct Voxels {
    int depth, height, width, channels;
    bool clamped;
    __device__ bool find(int& z, int& y, int& x) const {
        if (clamped) {
            z = clamp(z, 0, depth - 1);
            y = clamp(y, 0, height - 1);
            x = clamp(x, 0, width - 1);
        }
        return z >= 0 && z < depth && y >= 0 && y < height && x >= 0 && x < width;
    }
    __device__ i64 at(int z, int y, int x, int c) const {
        return (((i64)z * height + y) * width + x) * channels + c;
    }
};

template <class In> __device__ inline float voxel(const In* data, const Voxels& shape, int z, int y, int x, int c, float outside) {
    return shape.find(z, y, x) ? (float)widen(data[shape.at(z, y, x, c)]) : outside;
}

template <class In>
__device__ inline float slice_value(
    const In* data, const Voxels& shape, int z, int y, int x, int c, float px, float qx, float py, float qy,
    float outside) {
    const float upper = voxel(data, shape, z, y, x, c, outside) * px + voxel(data, shape, z, y, x + 1, c, outside) * qx;
    const float lower =
        voxel(data, shape, z, y + 1, x, c, outside) * px + voxel(data, shape, z, y + 1, x + 1, c, outside) * qx;
    return upper * py + lower * qy;
}

template <class In, class Out> __device__ void warp_volume(const WarpVolumeSample* table, const WarpVolumeParam& param) {
    const float outside = (float)widen(saturate<In>(param.fill));
    FOR_SAMPLES(s) {
        const WarpVolumeSample& sample = table[s];
        const In* data = (const In*)sample.data;
        const float* m = sample.matrix;
        const bool some = sample.depth > 0 && sample.height > 0 && sample.width > 0;
        const Voxels shape = {sample.depth, sample.height, sample.width, sample.channels, param.clamp && some};
        FOR_ELEMENTS(i, sample.total) {
            Divided at = divide(i, sample.out_width);
            const int column = at.rest;
            at = divide(at.quotient, sample.out_height);
            const float y = (float)at.rest + 0.5f, z = (float)at.quotient + 0.5f;
            float u = stepped(((m[3] + m[0] * 0.5f) + m[1] * y) + m[2] * z, m[0], column);
            float v = stepped(((m[7] + m[4] * 0.5f) + m[5] * y) + m[6] * z, m[4], column);
            float w = stepped(((m[11] + m[8] * 0.5f) + m[9] * y) + m[10] * z, m[8], column);
            Out* out = (Out*)sample.out + i * sample.channels;
            if (!param.linear) {
                int left = whole(u), top = whole(v), front = whole(w);
                const bool inside = shape.find(front, top, left);
                for (int c = 0; c < sample.channels; ++c) {
                    out[c] = inside ? saturate<Out>(widen(data[shape.at(front, top, left, c)])) : saturate<Out>(param.fill);
                }
                continue;
            }
            u -= 0.5f;
            v -= 0.5f;
            w -= 0.5f;
            const int left = whole(u), top = whole(v), front = whole(w);
            const float qx = u - (float)left, qy = v - (float)top, qz = w - (float)front;
            const float px = 1.0f - qx, py = 1.0f - qy;
            for (int c = 0; c < sample.channels; ++c) {
                const float near = slice_value(data, shape, front, top, left, c, px, qx, py, qy, outside);
                const float far = slice_value(data, shape, front + 1, top, left, c, px, qx, py, qy, outside);
                out[c] = saturate<Out>(near + (far - near) * qz);
            }
        }
    }
}
