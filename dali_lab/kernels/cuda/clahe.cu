// Contrast-limited adaptive histogram equalisation as in OpenCV, of planes or of the lightness of colours.
// Tables are [planes, tiles down, tiles across, 256].

// Tile geometry: the picture is padded to a multiple of the number of tiles, mirrored about its last pixels.
struct Tiles {
    int height, width, across, down, tile_height, tile_width;
    template <class Sample, class Param>
    __device__ Tiles(const Sample& sample, const Param& param)
        : height(sample.height), width(sample.width), across(param.across), down(param.down) {
        const bool fits = width % across == 0 && height % down == 0;
        tile_width = fits ? width / across : width / across + 1;
        tile_height = fits ? height / down : height / down + 1;
    }
    __device__ int pixels() const { return tile_height * tile_width; }
};

__device__ void tile_counts(const TileCountsSample* table, const TileCountsParam& param) {
    FOR_SAMPLES(s) {
        const TileCountsSample& sample = table[s];
        const Tiles tiles(sample, param);
        const u8* data = (const u8*)sample.data;
        int* out = (int*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided along = divide(i, tiles.tile_width * tiles.across);
            const Divided down = divide(along.quotient, tiles.tile_height * tiles.down);
            const int row = place_of(down.rest, tiles.height, REFLECT_101);
            const int column = place_of(along.rest, tiles.width, REFLECT_101);
            const int level = data[((i64)row * tiles.width + column) * param.planes + down.quotient];
            const i64 tile = (down.quotient * tiles.down + down.rest / tiles.tile_height) * tiles.across +
                             along.rest / tiles.tile_width;
            atomicAdd(&out[tile * 256 + level], 1);
        }
    }
}

// Counts above the limit are spread evenly over all levels; the remainder goes to equally spaced levels.
__device__ void tile_levels(const TileLevelsSample* table, const TileLevelsParam& param) {
    FOR_SAMPLES(s) {
        const TileLevelsSample& sample = table[s];
        const Tiles tiles(sample, param);
        const double wanted = param.clip * tiles.pixels() / 256;
        const int most = wanted >= 1.0 && wanted < 2147483648.0 ? (int)wanted : 1;
        const int limit = param.clip > 0.0 ? most : tiles.pixels();
        const float scale = 255.0f / (float)tiles.pixels();
        u8* out = (u8*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const int* counts = (const int*)sample.counts + i / 256 * 256;
            const int level = (int)(i % 256);
            int below = 0, above = 0;
            for (int k = 0; k < 256; ++k) {
                const int count = counts[k], kept = smaller(count, limit);
                above += count - kept;
                if (k <= level) below += kept;
            }
            const int rest = above % 256, step = rest ? larger(256 / rest, 1) : 256;
            below += above / 256 * (level + 1) + smaller(rest, level / step + 1);
            out[i] = saturate<u8>(rintf((float)below * scale));
        }
    }
}

// A level after equalising, between the tables of the four tiles around.
__device__ inline int equalised(const u8* levels, const Tiles& tiles, int row, int column, int level) {
    const float x = (float)column * (1.0f / (float)tiles.tile_width) - 0.5f;
    const float y = (float)row * (1.0f / (float)tiles.tile_height) - 0.5f;
    const int left = whole(x), top = whole(y);
    const float a = x - (float)left, b = y - (float)top;
    const int first = larger(left, 0), second = smaller(left + 1, tiles.across - 1);
    const u8* upper = levels + larger(top, 0) * tiles.across * 256 + level;
    const u8* lower = levels + smaller(top + 1, tiles.down - 1) * tiles.across * 256 + level;
    const float above = (float)upper[first * 256] * (1.0f - a) + (float)upper[second * 256] * a;
    const float below = (float)lower[first * 256] * (1.0f - a) + (float)lower[second * 256] * a;
    return (int)rintf(above * (1.0f - b) + below * b);
}

__device__ void through_tiles(const ThroughTilesSample* table, const ThroughTilesParam& param) {
    FOR_SAMPLES(s) {
        const ThroughTilesSample& sample = table[s];
        const Tiles tiles(sample, param);
        const u8* data = (const u8*)sample.data;
        u8* out = (u8*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided pixel = divide(i, param.planes), at = divide(pixel.quotient, tiles.width);
            const u8* levels = (const u8*)sample.levels + (i64)pixel.rest * tiles.down * tiles.across * 256;
            out[i] = (u8)clamp(equalised(levels, tiles, (int)at.quotient, at.rest, data[i]), 0, 255);
        }
    }
}

// Colours in CIELAB with 8 bits a channel, in OpenCV's fixed point; see lab_tables of the CPU's clahe.py.
struct LabTables {
    const u16* linear;     // [256], with 3 bits after the point
    const u16* root;       // [3072], the function f of CIELAB with 15
    const int* luminance;  // [256, 2], luminance and its f by lightness, with 14
    const u8* level;       // [4096], back to sRGB
    __device__ explicit LabTables(const void* tables) {
        luminance = (const int*)tables;
        linear = (const u16*)(luminance + 512);
        root = linear + 256;
        level = (const u8*)(root + 3072);
    }
};

struct Lab {
    int light, a, b;
};

__device__ inline int descale(int value, int bits) { return (value + (1 << (bits - 1))) >> bits; }

__device__ inline Lab to_lab(const LabTables& tables, const u8* pixel) {
    const int red = tables.linear[pixel[0]], green = tables.linear[pixel[1]], blue = tables.linear[pixel[2]];
    const int x = tables.root[descale(1777 * red + 1541 * green + 778 * blue, 12)];
    const int y = tables.root[descale(871 * red + 2929 * green + 296 * blue, 12)];
    const int z = tables.root[descale(73 * red + 448 * green + 3575 * blue, 12)];
    return {clamp(descale(296 * y - 1336934, 15), 0, 255), clamp(descale(500 * (x - y) + (128 << 15), 15), 0, 255),
            clamp(descale(200 * (y - z) + (128 << 15), 15), 0, 255)};
}

// The inverse of f, with 14 bits after the point.
__device__ inline int cubed(int value) {
    if (value <= 3390) return value * 108 / 841 - 16384 * 16 / 116 * 108 / 841;
    return value * value / 16384 * value / 16384;
}

__device__ inline u8 channel(const LabTables& tables, int value) {
    return tables.level[clamp(descale(value, 14), 0, 4095)];
}

__device__ inline void from_lab(const LabTables& tables, const Lab& colour, u8* out) {
    const int y = tables.luminance[2 * colour.light], root = tables.luminance[2 * colour.light + 1];
    const int x = cubed(root + ((5 * colour.a * 53687 + 128) >> 13) - 128 * 16384 / 500);
    const int z = cubed(root - (((colour.b * 41943 + 16) >> 9) - 128 * 16384 / 200 + 1));
    out[0] = channel(tables, 12615 * x - 6296 * y - 2223 * z);
    out[1] = channel(tables, -3773 * x + 7684 * y + 185 * z);
    out[2] = channel(tables, 217 * x - 836 * y + 4715 * z);
}

__device__ void lightness(const LightnessSample* table, const LightnessParam& param) {
    const LabTables tables(param.tables);
    FOR_SAMPLES(s) {
        u8* out = (u8*)table[s].out;
        FOR_ELEMENTS(i, table[s].total) out[i] = (u8)to_lab(tables, (const u8*)table[s].data + i * 3).light;
    }
}

__device__ void lightness_through_tiles(
    const LightnessThroughTilesSample* table, const LightnessThroughTilesParam& param) {
    const LabTables tables(param.tables);
    FOR_SAMPLES(s) {
        const LightnessThroughTilesSample& sample = table[s];
        const Tiles tiles(sample, param);
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, tiles.width);
            Lab colour = to_lab(tables, (const u8*)sample.data + i * 3);
            const int light = equalised((const u8*)sample.levels, tiles, (int)at.quotient, at.rest, colour.light);
            colour.light = clamp(light, 0, 255);
            from_lab(tables, colour, (u8*)sample.out + i * 3);
        }
    }
}
