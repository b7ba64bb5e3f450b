// Extremes and medians of windows around each element of pictures [planes, height, width, channels].

// Along one axis of [outer, length, inner].
template <class T> __device__ void extreme(const ExtremeSample* table, const ExtremeParam& param) {
    FOR_SAMPLES(s) {
        const ExtremeSample& sample = table[s];
        T* out = (T*)sample.out;
        const int length = sample.length;
        const i64 step = sample.inner;
        FOR_ELEMENTS(i, sample.total) {
            const Divided across = divide(i, step);
            const Divided along = divide(across.quotient, length);
            const T* line = (const T*)sample.data + along.quotient * length * step + across.rest;
            const int first = along.rest - sample.anchor;
            T best = line[along.rest * step];
            for (int k = 0; k < sample.taps; ++k) {
                const int place = place_of(first + k, length, param.border);
                if (place < 0) continue;
                const T value = line[place * step];
                best = param.greatest ? larger(best, value) : smaller(best, value);
            }
            out[i] = best;
        }
    }
}

// Elements mapped to unsigned integers of the same order.
template <class T> struct Key;
template <> struct Key<u8> {
    static const u32 most = 0xffu;
    static __device__ u32 of(u8 value) { return value; }
    static __device__ u8 back(u32 key) { return (u8)key; }
};
template <> struct Key<u16> {
    static const u32 most = 0xffffu;
    static __device__ u32 of(u16 value) { return value; }
    static __device__ u16 back(u32 key) { return (u16)key; }
};
template <> struct Key<short> {
    static const u32 most = 0xffffu;
    static __device__ u32 of(short value) { return (u32)(value + 32768); }
    static __device__ short back(u32 key) { return (short)((int)key - 32768); }
};
template <> struct Key<int> {
    static const u32 most = 0xffffffffu;
    static __device__ u32 of(int value) { return (u32)value ^ 0x80000000u; }
    static __device__ int back(u32 key) { return (int)(key ^ 0x80000000u); }
};
template <> struct Key<float> {
    static const u32 most = 0xffffffffu;
    static __device__ u32 of(float value) {
        const u32 bits = (u32)__float_as_int(value);
        return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    }
    static __device__ float back(u32 key) {
        return __int_as_float((int)(key & 0x80000000u ? key & 0x7fffffffu : ~key));
    }
};

// The median of the window, found by bisection over the range of keys.
template <class T> __device__ void median(const MedianSample* table, const MedianParam& param) {
    FOR_SAMPLES(s) {
        const MedianSample& sample = table[s];
        T* out = (T*)sample.out;
        const int height = sample.height, width = sample.width, channels = sample.channels;
        const int wide = sample.window_width, high = sample.window_height, middle = wide * high / 2;
        FOR_ELEMENTS(i, sample.total) {
            const Divided pixel = divide(i, channels);
            const Divided across = divide(pixel.quotient, width);
            const Divided down = divide(across.quotient, height);
            const T* data = (const T*)sample.data + down.quotient * height * width * channels + pixel.rest;
            const int left = across.rest - wide / 2, top = down.rest - high / 2;
            u32 low = 0, upper = Key<T>::most;
            while (low < upper) {
                const u32 guess = low + (upper - low) / 2;
                int below = 0;
                for (int j = 0; j < high; ++j) {
                    const T* row = data + (i64)clamp(top + j, 0, height - 1) * width * channels;
                    for (int k = 0; k < wide; ++k)
                        below += Key<T>::of(row[(i64)clamp(left + k, 0, width - 1) * channels]) <= guess;
                }
                if (below > middle) {
                    upper = guess;
                } else {
                    low = guess + 1;
                }
            }
            out[i] = Key<T>::back(low);
        }
    }
}
