// Values from a table, and one-hot vectors. Values are copied as words of their size, whatever their type.

template <class In, class Word> __device__ void look_up(const LookUpSample* table, const LookUpParam& param) {
    FOR_SAMPLES(s) {
        const LookUpSample& sample = table[s];
        const In* data = (const In*)sample.data;
        const Word* values = (const Word*)sample.values;
        Word* out = (Word*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const In key = data[i];
            const bool inside = !(key < (In)0) && (u64)key < (u64)param.last;
            out[i] = values[inside ? (u64)key : (u64)param.last];
        }
    }
}

// Whether a label, truncated to an integer, is a class.
template <class In, bool is_float> struct Label {
    static __device__ inline bool is(In label, int number) {
        const double whole = trunc((double)widen(label));
        return whole == (double)number;
    }
};
template <class In> struct Label<In, false> {
    static __device__ inline bool is(In label, int number) { return !(label < (In)0) && (u64)label == (u64)number; }
};

template <class In, class Word> __device__ void one_hot(const OneHotSample* table, const OneHotParam& param) {
    FOR_SAMPLES(s) {
        const OneHotSample& sample = table[s];
        const In* labels = (const In*)sample.labels;
        const Word* values = (const Word*)sample.values;
        Word* out = (Word*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided inner = divide(i, sample.inner);
            const Divided outer = divide(inner.quotient, param.classes);
            const In label = labels[outer.quotient * sample.inner + inner.rest];
            out[i] = values[Label<In, Traits<In>::is_float>::is(label, outer.rest) ? 1 : 0];
        }
    }
}
