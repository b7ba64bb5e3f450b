// Overwrites regions of samples: a row of the table is a region. All regions of a sample have the same values.

template <class T> __device__ void fill_region(const FillRegionSample* table, const FillRegionParam& param) {
    FOR_SAMPLES(s) {
        const FillRegionSample& sample = table[s];
        const T* values = (const T*)sample.values;
        T* out = (T*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            i64 rest = i, offset = sample.start;
            int value = 0;
            for (int d = param.ndim - 1; d >= 0; --d) {
                const Divided cut = divide(rest, sample.extent[d]);
                rest = cut.quotient;
                offset += sample.stride[d] * cut.rest;
                if (d == param.fill_axis) value = smaller(sample.first + cut.rest, param.fills - 1);
            }
            out[offset] = values[value];
        }
    }
}
