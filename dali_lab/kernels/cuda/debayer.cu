// Colours of a Bayer pattern from neighbours, as OpenCV finds them: pixels of the edge are those next to them inside.

enum { BILINEAR, EDGE_AWARE, GRAY };

__device__ inline u32 apart(u32 a, u32 b) { return a > b ? a - b : b - a; }

template <class T> __device__ void debayer(const DebayerSample* table, const DebayerParam& param) {
    FOR_SAMPLES(s) {
        const DebayerSample& sample = table[s];
        const int height = sample.height, width = sample.width;
        FOR_ELEMENTS(i, sample.total) {
            T* out = (T*)sample.out + i * (param.algorithm == GRAY ? 1 : 3);
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
            // Where green was seen, the neighbours in the row have one colour and those in the column the other.
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
