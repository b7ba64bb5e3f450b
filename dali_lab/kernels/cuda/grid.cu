// Copies images, with the pixels in the squares of a rotated grid set to zero.

template <class T> __device__ void grid_mask(const GridMaskSample* table, const GridMaskParam& param) {
    FOR_SAMPLES(s) {
        const GridMaskSample& sample = table[s];
        const T* data = (const T*)sample.data;
        T* out = (T*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided pixel = divide(i, sample.channels);
            const Divided at = divide(pixel.quotient, sample.width);
            const float x = (float)at.rest, y = (float)at.quotient;
            const float u = (sample.start_u - y * sample.sine) + x * sample.cosine;
            const float v = (sample.start_v + y * sample.cosine) + x * sample.sine;
            const bool keep = u - floorf(u) >= sample.ratio || v - floorf(v) >= sample.ratio;
            out[i] = keep ? data[i] : (T)0;
        }
    }
}
