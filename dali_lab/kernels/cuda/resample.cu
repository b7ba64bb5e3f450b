// Resampling by separable filters, with NVIDIA DALI's order of sums. A block computes tiles of the result; the weights of
// a tile's columns and lines are computed once, into shared memory, unless an axis has too many taps for it.
enum { COLUMNS = 32, LINES = 8, MOST_TAPS = 32 };

// The taps of one output along an axis.
struct Taps {
    int first;
    float offset, total;
};

__device__ inline float filter_value(const float* tables, const ResampleAxis& axis, float offset, int k) {
    const float position = (offset + (float)k) * axis.scale;
    if (!(position > -1.0f && position < (float)axis.entries)) return 0.0f;
    const int left = (int)floorf(position);
    const float fraction = position - (float)left;
    const float low = left >= 0 ? tables[axis.base + left] : 0.0f;
    const float high = left + 1 < axis.entries ? tables[axis.base + left + 1] : 0.0f;
    return low + fraction * (high - low);
}

__device__ inline Taps find_taps(const float* tables, const ResampleAxis& axis, int x, bool accumulate) {
    Taps taps = {0, 0.0f, 1.0f};
    if (axis.nearest) {
        float position;
        if (accumulate) {
            position = axis.origin + 0.5f * axis.step;
            for (int i = 0; i < x; ++i) position += axis.step;
        } else {
            position = axis.origin + ((float)x + 0.5f) * axis.step;
        }
        taps.first = axis.first + clamp(whole(position), 0, axis.size - axis.first - 1);
        return taps;
    }
    const float origin = axis.origin + (0.5f * axis.step - 0.5f - axis.anchor);
    const float start = (float)x * axis.step + origin;
    const float tap = ceilf(start);
    taps.first = axis.first + whole(tap);
    taps.offset = tap - start;
    taps.total = 0.0f;
    for (int k = 0; k < axis.taps; ++k) taps.total += filter_value(tables, axis, taps.offset, k);
    return taps;
}

__device__ inline float weight_of(const float* tables, const ResampleAxis& axis, const Taps& taps, int k) {
    if (axis.nearest) return 1.0f;
    const float value = filter_value(tables, axis, taps.offset, k);
    return taps.total != 0.0f ? value / taps.total : value;
}

// The taps of a tile along an axis, and their weights; those of one tap stand together.
struct TileTaps {
    Taps taps[COLUMNS];
    float weights[MOST_TAPS * COLUMNS];
};

// Fill in the taps of `count` places, the outputs `from`, `from + step` and so on. All threads of a block come here.
__device__ inline void find_tile(
    TileTaps& tile, const float* tables, const ResampleAxis& axis, int count, int from, int step, bool accumulate) {
    FOR_BLOCK(i, count) {
        const Taps taps = find_taps(tables, axis, from + i * step, accumulate);
        tile.taps[i] = taps;
        if (axis.taps > MOST_TAPS) continue;
        for (int k = 0; k < axis.taps; ++k) tile.weights[k * COLUMNS + i] = weight_of(tables, axis, taps, k);
    }
}

__device__ inline float tile_weight(
    const TileTaps& tile, const float* tables, const ResampleAxis& axis, int place, int k) {
    return axis.taps > MOST_TAPS ? weight_of(tables, axis, tile.taps[place], k) : tile.weights[k * COLUMNS + place];
}

struct FourChannels {
    float value[4];
};

// Up to four channels from `channel` on of a tile's pixel. Sums over the inner axis are formed first.
template <class In>
__device__ inline FourChannels resample_pixel(
    const In* data, const float* tables, const ResampleAxis& outer, const TileTaps& outer_tile, int outer_place,
    i64 outer_stride, const ResampleAxis& inner, const TileTaps& inner_tile, int inner_place, i64 inner_stride,
    int channels, int channel) {
    const int outer_first = outer_tile.taps[outer_place].first, inner_first = inner_tile.taps[inner_place].first;
    FourChannels result = {{0.0f, 0.0f, 0.0f, 0.0f}};
    for (int k = 0; k < outer.taps; ++k) {
        const In* from = data + clamp(outer_first + k, 0, outer.size - 1) * outer_stride + channel;
        float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
        for (int j = 0; j < inner.taps; ++j) {
            const In* at = from + clamp(inner_first + j, 0, inner.size - 1) * inner_stride;
            const float weight = tile_weight(inner_tile, tables, inner, inner_place, j);
            s0 += weight * (float)widen(at[0]);
            if (channel + 1 < channels) s1 += weight * (float)widen(at[1]);
            if (channel + 2 < channels) s2 += weight * (float)widen(at[2]);
            if (channel + 3 < channels) s3 += weight * (float)widen(at[3]);
        }
        const float weight = tile_weight(outer_tile, tables, outer, outer_place, k);
        result.value[0] += weight * s0;
        result.value[1] += weight * s1;
        result.value[2] += weight * s2;
        result.value[3] += weight * s3;
    }
    return result;
}

// The same where either axis may be the inner one.
template <class In, class Sample>
__device__ inline FourChannels resample_pixel(
    const In* data, const float* tables, const Sample& sample, const TileTaps& rows, int line, const TileTaps& columns,
    int column, int channel) {
    const i64 pixel = sample.channels, pitch = (i64)sample.across.size * sample.channels;
    if (sample.vertical_first) {
        return resample_pixel(
            data, tables, sample.across, columns, column, pixel, sample.down, rows, line, pitch, sample.channels, channel);
    }
    return resample_pixel(
        data, tables, sample.down, rows, line, pitch, sample.across, columns, column, pixel, sample.channels, channel);
}

// A tile of the result: its frame, and its first line and column.
struct Tile {
    i64 frame;
    int top, left, lines, columns;
};
__device__ inline Tile tile_of(i64 index, int height, int width) {
    const Divided across = divide(index, (width + COLUMNS - 1) / COLUMNS);
    const Divided down = divide(across.quotient, (height + LINES - 1) / LINES);
    const int top = down.rest * LINES, left = across.rest * COLUMNS;
    return {down.quotient, top, left, smaller((int)LINES, height - top), smaller((int)COLUMNS, width - left)};
}

// Whether an element of a row is rounded half to even, rather than half away from zero.
__device__ inline bool goes_even(const ResampleHalves& halves, int lanes, int channels, int x, int channel) {
    if (halves.kind == 0) return false;
    if (halves.kind == 1) return x * channels + channel < halves.width * channels / lanes * lanes;
    const int begin = x < halves.low ? 0 : x < halves.high ? halves.low : halves.high;
    const int end = x < halves.low ? halves.low : x < halves.high ? halves.high : halves.width;
    return x - begin < (end - begin) / lanes * lanes;
}

// A sum rounded half to even; int16 gives -1 for all between -1 and 0, as in NVIDIA DALI.
template <class Out> __device__ inline Out round_even(float value) {
    return (Out)(int)clamp(rintf(value), (float)Traits<Out>::least(), (float)Traits<Out>::most());
}
template <> __device__ inline short round_even<short>(float value) {
    const int whole = (int)clamp(rintf(value), -32768.0f, 32767.0f);
    return (short)(value < 0.0f && value >= -0.5f ? -1 : whole);
}
template <> __device__ inline half round_even<half>(float value) { return saturate<half>(value); }
template <> __device__ inline float round_even<float>(float value) { return value; }

template <class Out>
__device__ inline Out finish(float value, const ResampleHalves& halves, int channels, int x, int channel) {
    return goes_even(halves, 16 / (int)sizeof(Out), channels, x, channel) ? round_even<Out>(value)
                                                                         : saturate<Out>(value);
}

template <class In, class Out> __device__ void resize(const ResizeSample* table, const ResizeParam& param) {
    __shared__ TileTaps rows, columns;
    const float* tables = (const float*)param.tables;
    FOR_SAMPLES(s) {
        const ResizeSample& sample = table[s];
        const int channels = sample.channels;
        for (i64 index = blockIdx.x; index < sample.tiles; index += gridDim.x) {
            const Tile tile = tile_of(index, sample.out_height, sample.out_width);
            find_tile(rows, tables, sample.down, tile.lines, tile.top, 1, true);
            find_tile(columns, tables, sample.across, tile.columns, tile.left, 1, false);
            __syncthreads();
            const In* data = (const In*)sample.data + tile.frame * sample.down.size * sample.across.size * channels;
            FOR_BLOCK(i, LINES * COLUMNS) {
                const int line = i / COLUMNS, column = i % COLUMNS;
                if (line >= tile.lines || column >= tile.columns) continue;
                const int x = tile.left + column;
                Out* out = (Out*)sample.out
                    + ((tile.frame * sample.out_height + tile.top + line) * sample.out_width + x) * channels;
                for (int channel = 0; channel < channels; channel += 4) {
                    const FourChannels sums =
                        resample_pixel(data, tables, sample, rows, line, columns, column, channel);
#pragma unroll
                    for (int c = 0; c < 4; ++c) {
                        const int to = channel + c;
                        if (to < channels) out[to] = finish<Out>(sums.value[c], sample.halves, channels, x, to);
                    }
                }
            }
            __syncthreads();
        }
    }
}

// One of three passes over volumes: along an axis with `inner` elements from one place on it to the next.
template <class In, class Out> __device__ void resample_pass(const ResamplePassSample* table, const ResamplePassParam& param) {
    const float* tables = (const float*)param.tables;
    FOR_SAMPLES(s) {
        const ResamplePassSample& sample = table[s];
        const ResampleAxis& axis = sample.axis;
        FOR_ELEMENTS(i, sample.total) {
            Divided at = divide(i, sample.inner);
            const int rest = at.rest;
            at = divide(at.quotient, sample.out_size);
            const Taps taps = find_taps(tables, axis, at.rest, sample.accumulate);
            const In* data = (const In*)sample.data + at.quotient * axis.size * sample.inner + rest;
            float sum = 0.0f;
            for (int k = 0; k < axis.taps; ++k) {
                const i64 element = clamp(taps.first + k, 0, axis.size - 1);
                sum += weight_of(tables, axis, taps, k) * (float)widen(data[element * sample.inner]);
            }
            const int x = sample.halves.kind == 2 ? at.rest : 0;
            ((Out*)sample.out)[i] = finish<Out>(sum, sample.halves, sample.inner, x, rest);
        }
    }
}

// Resize, crop, mirror and normalise; the resized image is never stored.
template <class In, class Out>
__device__ void resize_crop_mirror_normalize(
    const ResizeCropMirrorNormalizeSample* table, const ResizeCropMirrorNormalizeParam& param) {
    __shared__ TileTaps rows, columns;
    const float* tables = (const float*)param.tables;
    FOR_SAMPLES(s) {
        const ResizeCropMirrorNormalizeSample& sample = table[s];
        const float* mean = (const float*)sample.mean;
        const float* inverse = (const float*)sample.inverse;
        const i64 plane = (i64)sample.out_height * sample.out_width;
        const int direction = sample.mirror ? -1 : 1;
        const int first = sample.left + (sample.mirror ? sample.out_width - 1 : 0);
        for (i64 index = blockIdx.x; index < sample.tiles; index += gridDim.x) {
            const Tile tile = tile_of(index, sample.out_height, sample.out_width);
            find_tile(rows, tables, sample.down, tile.lines, sample.top + tile.top, 1, true);
            find_tile(columns, tables, sample.across, tile.columns, first + direction * tile.left, direction, false);
            __syncthreads();
            const In* data =
                (const In*)sample.data + tile.frame * sample.down.size * sample.across.size * sample.channels;
            Out* out = (Out*)sample.out + tile.frame * plane * param.out_channels;
            FOR_BLOCK(i, LINES * COLUMNS) {
                const int line = i / COLUMNS, column = i % COLUMNS;
                if (line >= tile.lines || column >= tile.columns) continue;
                const int x = tile.left + column;
                const i64 pixel = (i64)(tile.top + line) * sample.out_width + x;
                for (int channel = 0; channel < param.out_channels; channel += 4) {
                    FourChannels sums = {{0.0f, 0.0f, 0.0f, 0.0f}};
                    if (channel < sample.channels) {
                        sums = resample_pixel(data, tables, sample, rows, line, columns, column, channel);
                    }
#pragma unroll
                    for (int c = 0; c < 4; ++c) {
                        const int to = channel + c;
                        if (to >= param.out_channels) break;
                        Out value = saturate<Out>(0.0f);
                        if (to < sample.channels) {
                            float sum = sums.value[c];
                            if (param.rounded) {
                                sum = (float)finish<unsigned char>(
                                    sum, sample.halves, sample.channels, first + direction * x, to);
                            }
                            const int k = smaller(to, param.factors - 1);
                            value = saturate<Out>((sum - mean[k]) * inverse[k]);
                        }
                        out[param.planar_out ? to * plane + pixel : pixel * param.out_channels + to] = value;
                    }
                }
            }
            __syncthreads();
        }
    }
}
