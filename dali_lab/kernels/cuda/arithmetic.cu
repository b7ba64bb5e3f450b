// Expressions of one operator over arrays; see operations.cuh.

template <class T, int group> __device__ void expression(const ExpressionSample* table, const ExpressionParam& param) {
    typedef typename Number<T>::Type V;
    FOR_SAMPLES(s) {
        const ExpressionSample& sample = table[s];
        T* out = (T*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Places at = places_of(sample, param.ndim, i);
            if (group == WHOLE && Traits<T>::is_float && param.operation == MOD && param.mixed) {
                const double x = load<double>(sample.a, param.kind_a, at.a), y = load<double>(sample.b, param.kind_b, at.b);
                out[i] = mixed_remainder<T>(x, y);
                continue;
            }
            const V a = Operand<T>::of(load<V>(sample.a, param.kind_a, at.a));
            const V b = param.operands > 1 ? Operand<T>::of(load<V>(sample.b, param.kind_b, at.b)) : a;
            const V c = param.operands > 2 ? Operand<T>::of(load<V>(sample.c, param.kind_c, at.c)) : a;
            out[i] = Number<T>::from(result_of<T, V, group>(param.operation, a, b, c));
        }
    }
}

template <class V> __device__ void comparison(const ComparisonSample* table, const ComparisonParam& param) {
    FOR_SAMPLES(s) {
        const ComparisonSample& sample = table[s];
        bool* out = (bool*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Places at = places_of(sample, param.ndim, i);
            const V a = narrowed(load<V>(sample.a, param.kind_a, at.a), param.half_precision);
            const V b = narrowed(load<V>(sample.b, param.kind_b, at.b), param.half_precision);
            out[i] = compared(param.operation, a, param.kind_a, b, param.kind_b);
        }
    }
}
