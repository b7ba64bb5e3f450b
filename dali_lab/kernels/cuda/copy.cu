// Strided copies of elements by size, not type: each output axis walks an axis of the input from a start, by a step.

template <class T> __device__ void gather(const GatherSample* table, const GatherParam& param) {
    FOR_SAMPLES(s) {
        const GatherSample& sample = table[s];
        const T* data = (const T*)sample.data;
        T* out = (T*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            i64 rest = i, offset = 0;
            int fill = 0;
            bool inside = true;
            for (int d = param.ndim - 1; d >= 0; --d) {
                const Divided cut = divide(rest, sample.shape[d]);
                rest = cut.quotient;
                if (d == param.fill_axis) fill = smaller(cut.rest, param.fills - 1);
                const i64 position = sample.start[d] + (i64)cut.rest * sample.step[d];
                inside = inside && position >= 0 && position < sample.extent[d];
                offset += position * sample.stride[d];
            }
            out[i] = inside ? data[offset] : ((const T*)sample.fill)[fill];
        }
    }
}
