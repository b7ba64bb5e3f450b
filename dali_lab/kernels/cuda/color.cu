// A scale and an offset for each sample, and matrices that mix channels. Sums in float32, in the order that is written.

template <class In, class Out> __device__ void scale(const ScaleSample* table, const ScaleParam& param) {
    FOR_SAMPLES(s) {
        const ScaleSample& sample = table[s];
        const In* data = (const In*)sample.data;
        Out* out = (Out*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            out[i] = saturate<Out>((float)widen(data[i]) * sample.factor + sample.offset);
        }
    }
}

template <class In, class Out> __device__ void linear_rgb(const LinearRgbSample* table, const LinearRgbParam& param) {
    FOR_SAMPLES(s) {
        const LinearRgbSample& sample = table[s];
        const In* data = (const In*)sample.data;
        Out* out = (Out*)sample.out;
        const float* m = sample.matrix;
        FOR_ELEMENTS(i, sample.pixels) {
            const float r = (float)widen(data[3 * i]);
            const float g = (float)widen(data[3 * i + 1]);
            const float b = (float)widen(data[3 * i + 2]);
            out[3 * i] = saturate<Out>(m[0] * r + m[1] * g + m[2] * b + sample.offset[0]);
            out[3 * i + 1] = saturate<Out>(m[3] * r + m[4] * g + m[5] * b + sample.offset[1]);
            out[3 * i + 2] = saturate<Out>(m[6] * r + m[7] * g + m[8] * b + sample.offset[2]);
        }
    }
}

// A chain of colour operators, each rounded to the levels that it would store alone.
__device__ void chain(const ChainSample* table, const ChainParam& param) {
    FOR_SAMPLES(s) {
        const ChainSample& sample = table[s];
        const u8* data = (const u8*)sample.data;
        u8* out = (u8*)sample.out;
        const int* kinds = (const int*)param.kinds;
        FOR_ELEMENTS(i, sample.pixels) {
            u8 red = data[3 * i], green = data[3 * i + 1], blue = data[3 * i + 2];
            const float* m = (const float*)sample.matrices;
            const float* offset = (const float*)sample.offsets;
            for (int step = 0; step < param.steps; ++step, m += 9, offset += 3) {
                const float r = (float)red, g = (float)green, b = (float)blue;
                if (kinds[step] == 2) {  // the first and the third channel are exchanged
                    red = (u8)b;
                    blue = (u8)r;
                } else if (kinds[step] == 1) {  // the same factor and offset for all channels
                    red = saturate<u8>(r * m[0] + offset[0]);
                    green = saturate<u8>(g * m[0] + offset[0]);
                    blue = saturate<u8>(b * m[0] + offset[0]);
                } else {
                    red = saturate<u8>(m[0] * r + m[1] * g + m[2] * b + offset[0]);
                    green = saturate<u8>(m[3] * r + m[4] * g + m[5] * b + offset[1]);
                    blue = saturate<u8>(m[6] * r + m[7] * g + m[8] * b + offset[2]);
                }
            }
            out[3 * i] = red;
            out[3 * i + 1] = green;
            out[3 * i + 2] = blue;
        }
    }
}

// One matrix for all samples, between any numbers of channels.
template <class In, class Out> __device__ void mix(const MixSample* table, const MixParam& param) {
    FOR_SAMPLES(s) {
        const MixSample& sample = table[s];
        const In* data = (const In*)sample.data;
        Out* out = (Out*)sample.out;
        const float* matrix = (const float*)sample.matrix;
        const float* offset = (const float*)sample.offset;
        FOR_ELEMENTS(i, sample.pixels * param.outputs) {
            const Divided at = divide(i, param.outputs);
            float total = 0.0f;
            for (int c = 0; c < param.inputs; ++c) {
                total += matrix[at.rest * param.inputs + c] * (float)widen(data[at.quotient * param.inputs + c]);
            }
            out[i] = saturate<Out>(total + offset[at.rest]);
        }
    }
}
