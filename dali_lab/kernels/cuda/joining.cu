// Copies contiguous blocks of an input to strided places in the output. A row of the table is a sample of one input.

template <class T> __device__ void join(const JoinSample* table, const JoinParam& param) {
    FOR_SAMPLES(s) {
        const JoinSample& sample = table[s];
        const T* data = (const T*)sample.data;
        T* out = (T*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, sample.block);
            out[at.quotient * sample.pitch + at.rest] = data[i];
        }
    }
}
