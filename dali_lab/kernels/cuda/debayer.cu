// Demosaicing of Bayer patterns as in OpenCV: pixels of the edge repeat their neighbours inside.
// ALONG_COLORS is NPP's way: the image is reflected at its edges, and the measured colour guides green.

enum { BILINEAR, EDGE_AWARE, GRAY, ALONG_COLORS };

__device__ inline int mirrored(int index, int size) {
    index = index < 0 ? -index : index;
    index = index >= size ? 2 * size - 2 - index : index;
    return index < 0 ? -index : index;
}

template <class T> __device__ inline void along_colors(const DebayerSample& sample, int y, int x, T* out) {
    const int height = sample.height, width = sample.width;
    const T* data = (const T*)sample.data;
    const T* here = data + (i64)y * width;
    const T* above = data + (i64)mirrored(y - 1, height) * width;
    const T* below = data + (i64)mirrored(y + 1, height) * width;
    const int left = mirrored(x - 1, width), right = mirrored(x + 1, width);
    const bool blue_row = ((y + 1) & 1) == sample.blue_row, blue_column = ((x + 1) & 1) == sample.blue_column;
    const int seen = here[x], beside = (int)here[left] + here[right], over = (int)above[x] + below[x];
    int across = seen, green = seen, down;
    if (blue_row != blue_column) {
        across = beside / 2;
        down = over / 2;
    } else {
        const int far_beside = (int)here[mirrored(x - 2, width)] + here[mirrored(x + 2, width)];
        const int far_over =
            (int)data[(i64)mirrored(y - 2, height) * width + x] + data[(i64)mirrored(y + 2, height) * width + x];
        const int wide = seen - far_beside / 2, high = seen - far_over / 2;
        const int change = (wide < 0 ? -wide : wide) - (high < 0 ? -high : high);
        green = change < 0 ? beside / 2 : change > 0 ? over / 2 : (beside + over) / 4;
        down = ((int)above[left] + above[right] + below[left] + below[right]) / 4;
    }
    out[0] = (T)(blue_row ? down : across);
    out[1] = (T)green;
    out[2] = (T)(blue_row ? across : down);
}

__device__ inline u32 apart(u32 a, u32 b) { return a > b ? a - b : b - a; }

template <class T> __device__ void debayer(const DebayerSample* table, const DebayerParam& param) {
    FOR_SAMPLES(s) {
        const DebayerSample& sample = table[s];
        const int height = sample.height, width = sample.width;
        FOR_ELEMENTS(i, sample.total) {
            T* out = (T*)sample.out + i * (param.algorithm == GRAY ? 1 : 3);
            if (param.algorithm == ALONG_COLORS) {
                const Divided place = divide(i, width);
                along_colors<T>(sample, (int)place.quotient, (int)place.rest, out);
                continue;
            }
            if (height <= 2 || width <= 2) {
                out[0] = 0;
                if (param.algorithm != GRAY) out[1] = out[2] = 0;
                continue;
            }
            const Divided at = divide(i, width);
            const int y = clamp((int)at.quotient, 1, height - 2), x = clamp(at.rest, 1, width - 2);
            const T* data = (const T*)sample.data + (i64)y * width + x;
            const u32 here = data[0], left = data[-1], right = data[1], above = data[-width], below = data[width];
            const bool blue_row = ((y - 1) & 1) == sample.blue_row, blue_column = ((x - 1) & 1) == sample.blue_column;
            // At a green pixel, neighbours in the row have one colour and those in the column the other.
            u32 red, green, blue;
            if (blue_row != blue_column) {
                const u32 beside = left + right, over = above + below;
                if (param.algorithm == GRAY) {
                    const u32 sum = (blue_row ? over : beside) * 4899u + (blue_row ? beside : over) * 1868u;
                    out[0] = (T)((sum + here * 2u * 9617u + (1u << 14)) >> 15);
                    continue;
                }
                green = here;
                red = ((blue_row ? over : beside) + 1) >> 1;
                blue = ((blue_row ? beside : over) + 1) >> 1;
            } else {
                const u32 cross = left + right + above + below;
                const u32 corners = (u32)data[-width - 1] + data[-width + 1] + data[width - 1] + data[width + 1];
                if (param.algorithm == GRAY) {
                    const u32 sum = blue_row ? corners * 4899u + here * 4u * 1868u : here * 4u * 4899u + corners * 1868u;
                    out[0] = (T)((sum + cross * 9617u + (1u << 15)) >> 16);
                    continue;
                }
                green = (cross + 2) >> 2;
                if (param.algorithm == EDGE_AWARE)
                    green = apart(left, right) > apart(above, below) ? (above + below + 1) >> 1 : (left + right + 1) >> 1;
                const u32 other = (corners + 2) >> 2;
                red = blue_row ? other : here;
                blue = blue_row ? here : other;
            }
            out[0] = (T)red;
            out[1] = (T)green;
            out[2] = (T)blue;
        }
    }
}
