// JPEG compression artefacts of RGB pictures, in libjpeg's integers: luma in full resolution and two chroma planes in
// half of it, each in blocks of 8 x 8, whose coefficients are rounded to multiples of a table's steps.
// The planes are int16, one after the other: [luma rows, luma pitch], then twice [chroma rows, chroma pitch].

struct Eight {
    int a, b, c, d, e, f, g, h;
};

__device__ inline int descale(int value, int bits) { return (value + (1 << (bits - 1))) >> bits; }

// A transform of eight samples; `bits` more are lost than in a transform whose results are scaled by 4.
__device__ inline Eight forward(const Eight& in, int bits) {
    const int s0 = in.a + in.h, s1 = in.b + in.g, s2 = in.c + in.f, s3 = in.d + in.e;
    const int d0 = in.a - in.h, d1 = in.b - in.g, d2 = in.c - in.f, d3 = in.d - in.e;
    const int even0 = s0 + s3, even1 = s1 + s2, even2 = s1 - s2, even3 = s0 - s3;
    const int turned = (even2 + even3) * 4433;
    const int z1 = -7373 * (d3 + d0), z2 = -20995 * (d2 + d1), z5 = (d3 + d1 + d2 + d0) * 9633;
    const int z3 = z5 - 16069 * (d3 + d1), z4 = z5 - 3196 * (d2 + d0);
    const int shift = 11 + bits;
    Eight out;
    out.a = bits ? descale(even0 + even1, bits - 2) : (even0 + even1) * 4;
    out.e = bits ? descale(even0 - even1, bits - 2) : (even0 - even1) * 4;
    out.c = descale(turned + even3 * 6270, shift);
    out.g = descale(turned - even2 * 15137, shift);
    out.h = descale(d3 * 2446 + z1 + z3, shift);
    out.f = descale(d2 * 16819 + z2 + z4, shift);
    out.d = descale(d1 * 25172 + z2 + z3, shift);
    out.b = descale(d0 * 12299 + z1 + z4, shift);
    return out;
}

__device__ inline Eight inverse(const Eight& in, int shift) {
    const int turned = (in.c + in.g) * 4433;
    const int even2 = turned - in.g * 15137, even3 = turned + in.c * 6270;
    const int even0 = (in.a + in.e) * 8192, even1 = (in.a - in.e) * 8192;
    const int t0 = even0 + even3, t3 = even0 - even3, t1 = even1 + even2, t2 = even1 - even2;
    const int z1 = -7373 * (in.h + in.b), z2 = -20995 * (in.f + in.d), z5 = (in.h + in.d + in.f + in.b) * 9633;
    const int z3 = z5 - 16069 * (in.h + in.d), z4 = z5 - 3196 * (in.f + in.b);
    const int u0 = in.h * 2446 + z1 + z3, u1 = in.f * 16819 + z2 + z4;
    const int u2 = in.d * 25172 + z2 + z3, u3 = in.b * 12299 + z1 + z4;
    return {descale(t0 + u3, shift), descale(t1 + u2, shift), descale(t2 + u1, shift), descale(t3 + u0, shift),
            descale(t3 - u0, shift), descale(t2 - u1, shift), descale(t1 - u2, shift), descale(t0 - u3, shift)};
}

// Layout of the planes of a picture.
struct Planes {
    int luma_pitch, luma_rows, chroma_pitch, chroma_rows;
    __device__ Planes(int height, int width)
        : luma_pitch((width + 7) / 8 * 8), luma_rows((height + 7) / 8 * 8), chroma_pitch((width + 15) / 16 * 8),
          chroma_rows((height + 15) / 16 * 8) {}
    __device__ i64 luma() const { return (i64)luma_pitch * luma_rows; }
    __device__ i64 chroma() const { return (i64)chroma_pitch * chroma_rows; }
};

// Fixed point with 16 bits; plane 0 is luma, 1 blue, 2 red.
__device__ inline int converted(const u8* pixel, int plane) {
    const int red = pixel[0], green = pixel[1], blue = pixel[2];
    if (plane == 0) return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16;
    const int middle = (128 << 16) + 32767;
    if (plane == 1) return (-11059 * red - 21709 * green + 32768 * blue + middle) >> 16;
    return (32768 * red - 27439 * green - 5329 * blue + middle) >> 16;
}

// A sample of a plane, centred at 0; edge pixels are repeated beyond the edges.
struct Colours {
    const u8* data;
    int height, width;
    __device__ int at(int plane, int row, int column) const {
        return converted(data + ((i64)smaller(row, height - 1) * width + smaller(column, width - 1)) * 3, plane);
    }
    __device__ int sample(int plane, int row, int column) const {
        if (plane == 0) return at(0, row, column) - 128;
        const int top = 2 * smaller(row, (height + 1) / 2 - 1), left = 2 * column;
        const int sum = at(plane, top, left) + at(plane, top, left + 1) + at(plane, top + 1, left) +
                        at(plane, top + 1, left + 1);
        return ((sum + 1 + (column & 1)) >> 2) - 128;
    }
};

// One row of a block (eight samples) a thread: converted, and transformed along the row.
__device__ void jpeg_rows(const JpegRowsSample* table, const JpegRowsParam& param) {
    FOR_SAMPLES(s) {
        const JpegRowsSample& sample = table[s];
        const Colours colours = {(const u8*)sample.data, sample.height, sample.width};
        const Planes planes(sample.height, sample.width);
        FOR_ELEMENTS(i, sample.total) {
            const i64 rest = i * 8 - planes.luma();
            const int plane = rest < 0 ? 0 : rest < planes.chroma() ? 1 : 2;
            const Divided at = plane == 0 ? divide(i * 8, planes.luma_pitch)
                                          : divide(rest - (plane - 1) * planes.chroma(), planes.chroma_pitch);
            const int row = (int)at.quotient, left = at.rest;
            Eight in;
            in.a = colours.sample(plane, row, left);
            in.b = colours.sample(plane, row, left + 1);
            in.c = colours.sample(plane, row, left + 2);
            in.d = colours.sample(plane, row, left + 3);
            in.e = colours.sample(plane, row, left + 4);
            in.f = colours.sample(plane, row, left + 5);
            in.g = colours.sample(plane, row, left + 6);
            in.h = colours.sample(plane, row, left + 7);
            const Eight out = forward(in, 0);
            short* place = (short*)sample.out + i * 8;
            place[0] = (short)out.a;
            place[1] = (short)out.b;
            place[2] = (short)out.c;
            place[3] = (short)out.d;
            place[4] = (short)out.e;
            place[5] = (short)out.f;
            place[6] = (short)out.g;
            place[7] = (short)out.h;
        }
    }
}

// The nearest multiple of the step; the coefficient is scaled by 8.
__device__ inline int rounded(int value, int step) {
    const int most = 8 * step, size = ((value < 0 ? -value : value) + most / 2) / most * step;
    return value < 0 ? -size : size;
}

__device__ inline short word(int value) { return (short)clamp(value, -32768, 32767); }

// One column of a block a thread: transformed, quantised, and transformed back.
__device__ void jpeg_columns(const JpegColumnsSample* table, const JpegColumnsParam& param) {
    FOR_SAMPLES(s) {
        const JpegColumnsSample& sample = table[s];
        const Planes planes(sample.height, sample.width);
        const i64 luma = planes.luma(), chroma = planes.chroma();
        FOR_ELEMENTS(i, sample.total) {
            // Columns of luma first, then those of both planes of chroma.
            const i64 rest = i - luma / 8;
            const int plane = rest < 0 ? 0 : rest < chroma / 8 ? 1 : 2;
            const int pitch = plane == 0 ? planes.luma_pitch : planes.chroma_pitch;
            const Divided at = divide(plane == 0 ? i : rest - (plane - 1) * (chroma / 8), pitch);
            const i64 start = plane == 0 ? 0 : luma + (plane - 1) * chroma;
            short* place = (short*)sample.out + start + at.quotient * 8 * pitch + at.rest;
            const int* steps = (const int*)sample.steps + (plane == 0 ? 0 : 64) + (at.rest & 7);
            const i64 p = pitch;
            const Eight in = {place[0], place[p], place[2 * p], place[3 * p],
                              place[4 * p], place[5 * p], place[6 * p], place[7 * p]};
            Eight level = forward(in, 4);
            level.a = rounded(level.a, steps[0]);
            level.b = rounded(level.b, steps[8]);
            level.c = rounded(level.c, steps[16]);
            level.d = rounded(level.d, steps[24]);
            level.e = rounded(level.e, steps[32]);
            level.f = rounded(level.f, steps[40]);
            level.g = rounded(level.g, steps[48]);
            level.h = rounded(level.h, steps[56]);
            const Eight out = inverse(level, 11);
            place[0] = word(out.a);
            place[p] = word(out.b);
            place[2 * p] = word(out.c);
            place[3 * p] = word(out.d);
            place[4 * p] = word(out.e);
            place[5 * p] = word(out.f);
            place[6 * p] = word(out.g);
            place[7 * p] = word(out.h);
        }
    }
}

__device__ inline short level_of(int value) { return (short)clamp(value + 128, 0, 255); }

// One row of a block a thread, transformed back to levels from 0 to 255.
__device__ void jpeg_levels(const JpegLevelsSample* table, const JpegLevelsParam& param) {
    FOR_SAMPLES(s) {
        const JpegLevelsSample& sample = table[s];
        FOR_ELEMENTS(i, sample.total) {
            short* place = (short*)sample.out + i * 8;
            const Eight in = {place[0], place[1], place[2], place[3], place[4], place[5], place[6], place[7]};
            const Eight out = inverse(in, 18);
            place[0] = level_of(out.a);
            place[1] = level_of(out.b);
            place[2] = level_of(out.c);
            place[3] = level_of(out.d);
            place[4] = level_of(out.e);
            place[5] = level_of(out.f);
            place[6] = level_of(out.g);
            place[7] = level_of(out.h);
        }
    }
}

// Chroma at a pixel: three quarters of the nearest sample and one of the next, along both axes.
__device__ inline int chroma_at(const short* plane, int pitch, int height, int width, int row, int column) {
    const int rows = (height + 1) / 2, columns = (width + 1) / 2, y = row / 2, x = column / 2;
    if (columns <= 2) return plane[(i64)y * pitch + x];
    const short* here = plane + (i64)y * pitch;
    const short* beside = plane + (i64)clamp(row & 1 ? y + 1 : y - 1, 0, rows - 1) * pitch;
    const int next = clamp(column & 1 ? x + 1 : x - 1, 0, columns - 1);
    const int near = 3 * here[x] + beside[x], far = 3 * here[next] + beside[next];
    return (3 * near + far + (column & 1 ? 7 : 8)) >> 4;
}

__device__ void jpeg_pixels(const JpegPixelsSample* table, const JpegPixelsParam& param) {
    FOR_SAMPLES(s) {
        const JpegPixelsSample& sample = table[s];
        const int height = sample.height, width = sample.width;
        const Planes planes(height, width);
        const short* luma = (const short*)sample.data;
        const short* blues = luma + planes.luma();
        const short* reds = blues + planes.chroma();
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, width);
            const int row = (int)at.quotient, column = at.rest, pitch = planes.chroma_pitch;
            const int level = luma[(i64)row * planes.luma_pitch + column];
            const int blue = chroma_at(blues, pitch, height, width, row, column) - 128;
            const int red = chroma_at(reds, pitch, height, width, row, column) - 128;
            u8* out = (u8*)sample.out + i * 3;
            out[0] = (u8)clamp(level + ((91881 * red + 32768) >> 16), 0, 255);
            out[1] = (u8)clamp(level + ((-22554 * blue - 46802 * red + 32768) >> 16), 0, 255);
            out[2] = (u8)clamp(level + ((116130 * blue + 32768) >> 16), 0, 255);
        }
    }
}
