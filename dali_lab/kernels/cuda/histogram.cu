// Histogram equalisation of channels [outer, count, inner]: counted in several copies, which are added up, so that
// threads seldom wait for each other; then a table of levels for each channel, and the pixels through it.

__device__ void clear_counts(const ClearCountsSample* table, const ClearCountsParam& param) {
    FOR_SAMPLES(s) {
        int* out = (int*)table[s].out;
        FOR_ELEMENTS(i, table[s].total) out[i] = 0;
    }
}

__device__ void count_levels(const CountLevelsSample* table, const CountLevelsParam& param) {
    FOR_SAMPLES(s) {
        const CountLevelsSample& sample = table[s];
        const u8* data = (const u8*)sample.data;
        int* out = (int*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided plane = divide(i, sample.plane);
            const i64 channel = plane.quotient * sample.inner + divide(plane.rest, sample.inner).rest;
            const i64 copy = (i / param.run) % param.copies;
            atomicAdd(&out[(copy * sample.channels + channel) * 256 + data[i]], 1);
        }
    }
}

// The first copy becomes the sum of all.
__device__ void add_counts(const AddCountsSample* table, const AddCountsParam& param) {
    FOR_SAMPLES(s) {
        const AddCountsSample& sample = table[s];
        int* out = (int*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            int sum = out[i];
            for (int copy = 1; copy < param.copies; ++copy) sum += out[copy * sample.total + i];
            out[i] = sum;
        }
    }
}

__device__ void equal_levels(const EqualLevelsSample* table, const EqualLevelsParam& param) {
    FOR_SAMPLES(s) {
        const EqualLevelsSample& sample = table[s];
        u8* out = (u8*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const int* counts = (const int*)sample.counts + i / 256 * 256;
            const int level = (int)(i % 256);
            int lowest = 0;
            while (lowest < 255 && counts[lowest] == 0) ++lowest;
            int below = 0;
            for (int k = lowest + 1; k <= level; ++k) below += counts[k];
            const int others = sample.pixels - counts[lowest];
            const float scale = 255.0f / (float)larger(others, 1);
            // An image of a single level is unchanged.
            out[i] = level > lowest ? (u8)fminf(rintf((float)below * scale), 255.0f) : others == 0 ? (u8)lowest : 0;
        }
    }
}

__device__ void through_levels(const ThroughLevelsSample* table, const ThroughLevelsParam& param) {
    FOR_SAMPLES(s) {
        const ThroughLevelsSample& sample = table[s];
        const u8* data = (const u8*)sample.data;
        const u8* levels = (const u8*)sample.levels;
        u8* out = (u8*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided plane = divide(i, sample.plane);
            const i64 channel = plane.quotient * sample.inner + divide(plane.rest, sample.inner).rest;
            out[i] = levels[channel * 256 + data[i]];
        }
    }
}
