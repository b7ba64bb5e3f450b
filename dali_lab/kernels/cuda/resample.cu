// Resampling of one pixel by separable filters, with NVIDIA DALI's order of sums. Weights are computed where they are
// used: that costs less than writing and reading tables of them, and needs no second launch.

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

// Field by field: a choice between places would keep both in memory.
__device__ inline Taps one_of(bool first, const Taps& a, const Taps& b) {
    return {first ? a.first : b.first, first ? a.offset : b.offset, first ? a.total : b.total};
}

__device__ inline float weight_of(const float* tables, const ResampleAxis& axis, const Taps& taps, int k) {
    if (axis.nearest) return 1.0f;
    const float value = filter_value(tables, axis, taps.offset, k);
    return taps.total != 0.0f ? value / taps.total : value;
}

struct FourChannels {
    float value[4];
};

// Up to four channels from `channel` on of output pixel (x, y). Sums over the inner axis are formed first.
template <class In>
__device__ inline FourChannels resample_pixel(
    const In* data, const float* tables, const ResampleAxis& down, const ResampleAxis& across, bool vertical_first,
    int channels, int channel, int y, int x) {
    const Taps rows = find_taps(tables, down, y, true), columns = find_taps(tables, across, x, false);
    const ResampleAxis& outer = vertical_first ? across : down;
    const ResampleAxis& inner = vertical_first ? down : across;
    const Taps outer_taps = one_of(vertical_first, columns, rows), inner_taps = one_of(vertical_first, rows, columns);
    const i64 pixel = channels, line = (i64)across.size * channels;
    const i64 outer_stride = vertical_first ? pixel : line, inner_stride = vertical_first ? line : pixel;
    FourChannels result = {{0.0f, 0.0f, 0.0f, 0.0f}};
    for (int k = 0; k < outer.taps; ++k) {
        const In* from = data + clamp(outer_taps.first + k, 0, outer.size - 1) * outer_stride + channel;
        float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
        for (int j = 0; j < inner.taps; ++j) {
            const In* at = from + clamp(inner_taps.first + j, 0, inner.size - 1) * inner_stride;
            const float weight = weight_of(tables, inner, inner_taps, j);
            s0 += weight * (float)widen(at[0]);
            if (channel + 1 < channels) s1 += weight * (float)widen(at[1]);
            if (channel + 2 < channels) s2 += weight * (float)widen(at[2]);
            if (channel + 3 < channels) s3 += weight * (float)widen(at[3]);
        }
        const float weight = weight_of(tables, outer, outer_taps, k);
        result.value[0] += weight * s0;
        result.value[1] += weight * s1;
        result.value[2] += weight * s2;
        result.value[3] += weight * s3;
    }
    return result;
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
    const float* tables = (const float*)param.tables;
    FOR_SAMPLES(s) {
        const ResizeSample& sample = table[s];
        const int groups = (sample.channels + 3) / 4;
        FOR_ELEMENTS(i, sample.total) {
            Divided at = divide(i, groups);
            const int channel = 4 * at.rest;
            at = divide(at.quotient, sample.out_width);
            const int x = at.rest;
            at = divide(at.quotient, sample.out_height);
            const int y = at.rest;
            const i64 frame = at.quotient;
            const In* data = (const In*)sample.data + frame * sample.down.size * sample.across.size * sample.channels;
            const FourChannels sums = resample_pixel(
                data, tables, sample.down, sample.across, sample.vertical_first, sample.channels, channel, y, x);
            Out* out = (Out*)sample.out
                + ((frame * sample.out_height + y) * sample.out_width + x) * sample.channels + channel;
            const int channels = sample.channels;
            out[0] = finish<Out>(sums.value[0], sample.halves, channels, x, channel);
            if (channel + 1 < channels) out[1] = finish<Out>(sums.value[1], sample.halves, channels, x, channel + 1);
            if (channel + 2 < channels) out[2] = finish<Out>(sums.value[2], sample.halves, channels, x, channel + 2);
            if (channel + 3 < channels) out[3] = finish<Out>(sums.value[3], sample.halves, channels, x, channel + 3);
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
    const float* tables = (const float*)param.tables;
    FOR_SAMPLES(s) {
        const ResizeCropMirrorNormalizeSample& sample = table[s];
        const float* mean = (const float*)sample.mean;
        const float* inverse = (const float*)sample.inverse;
        const int groups = (param.out_channels + 3) / 4;
        FOR_ELEMENTS(i, sample.total) {
            Divided at = divide(i, sample.out_width);
            const int x = at.rest;
            at = divide(at.quotient, sample.out_height);
            const int y = at.rest;
            at = divide(at.quotient, groups);
            const int channel = 4 * at.rest;
            const i64 frame = at.quotient;
            const In* data = (const In*)sample.data + frame * sample.down.size * sample.across.size * sample.channels;
            FourChannels sums = {{0.0f, 0.0f, 0.0f, 0.0f}};
            const int column = sample.mirror ? sample.out_width - 1 - x : x;
            if (channel < sample.channels) {
                sums = resample_pixel(
                    data, tables, sample.down, sample.across, sample.vertical_first, sample.channels, channel,
                    sample.top + y, sample.left + column);
            }
            const i64 plane = (i64)sample.out_height * sample.out_width;
            const i64 pixel = (i64)y * sample.out_width + x;
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int to = channel + c;
                if (to >= param.out_channels) break;
                Out value = saturate<Out>(0.0f);
                if (to < sample.channels) {
                    float sum = sums.value[c];
                    if (param.rounded) {
                        sum = (float)finish<unsigned char>(
                            sum, sample.halves, sample.channels, sample.left + column, to);
                    }
                    const int k = smaller(to, param.factors - 1);
                    value = saturate<Out>((sum - mean[k]) * inverse[k]);
                }
                Out* out = (Out*)sample.out + frame * plane * param.out_channels;
                out[param.planar_out ? to * plane + pixel : pixel * param.out_channels + to] = value;
            }
        }
    }
}
