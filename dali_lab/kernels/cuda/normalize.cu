// Crop, mirror and normalise: out = (in - mean) * inverse, in float32.

template <class In, class Out>
__device__ void crop_mirror_normalize(const CropMirrorNormalizeSample* table, const CropMirrorNormalizeParam& param) {
    FOR_SAMPLES(s) {
        const CropMirrorNormalizeSample& sample = table[s];
        const In* data = (const In*)sample.data;
        Out* out = (Out*)sample.out;
        const float* mean = (const float*)sample.mean;
        const float* inverse = (const float*)sample.inverse;
        const Out* fill = (const Out*)sample.fill;
        FOR_ELEMENTS(i, sample.total) {
            int x, y, c;
            Divided at;
            if (param.planar_out) {
                at = divide(i, sample.out_width);
                x = at.rest;
                at = divide(at.quotient, sample.out_height);
                y = at.rest;
                at = divide(at.quotient, param.out_channels);
                c = at.rest;
            } else {
                at = divide(i, param.out_channels);
                c = at.rest;
                at = divide(at.quotient, sample.out_width);
                x = at.rest;
                at = divide(at.quotient, sample.out_height);
                y = at.rest;
            }
            const i64 frame = at.quotient;
            const int row = sample.top + y;
            const int column = sample.left + (sample.mirror ? sample.out_width - 1 - x : x);
            if (c >= param.channels || row < 0 || row >= sample.height || column < 0 || column >= sample.width) {
                out[i] = fill[smaller(c, param.fills - 1)];
                continue;
            }
            const i64 position = param.planar_in
                ? ((frame * param.channels + c) * sample.height + row) * sample.width + column
                : ((frame * sample.height + row) * sample.width + column) * param.channels + c;
            const int k = smaller(c, param.factors - 1);
            out[i] = saturate<Out>(((float)widen(data[position]) - mean[k]) * inverse[k]);
        }
    }
}
