// Regions of images pasted into canvases of zeros: each element takes the last region that covers it.

enum { OFFSET, PITCH, TOP, LEFT, HEIGHT, WIDTH, FIELDS };

template <class In, class Out> __device__ void paste(const PasteSample* table, const PasteParam& param) {
    FOR_SAMPLES(s) {
        const PasteSample& sample = table[s];
        const i64* regions = (const i64*)sample.regions;
        Out* out = (Out*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, sample.pitch);
            Out value = saturate<Out>(0);
            for (int k = sample.count - 1; k >= 0; --k) {
                const i64* region = regions + k * FIELDS;
                const i64 row = at.quotient - region[TOP], column = at.rest - region[LEFT];
                if (row < 0 || row >= region[HEIGHT] || column < 0 || column >= region[WIDTH]) continue;
                const In* data = (const In*)((const char*)sample.data + region[OFFSET] + row * region[PITCH]);
                value = saturate<Out>(widen(data[column]));
                break;
            }
            out[i] = value;
        }
    }
}
