// Unpacking LZ4 blocks: one thread for each chunk, since every step of a block needs those before it.

// A length: four bits, continued in bytes while they are 255; -1 at the end of the data.
struct Bytes {
    const u8* data;
    i64 at, end;
    __device__ i64 length(int bits) {
        i64 sum = bits;
        if (bits < 15) return sum;
        for (;;) {
            if (at >= end) return -1;
            const int more = data[at++];
            sum += more;
            if (more < 255) return sum;
        }
    }
};

// The number of bytes that were unpacked, or -1 where the data are no LZ4 block or hold more than there is room for.
__device__ inline i64 unpack_block(Bytes in, u8* out, i64 room) {
    i64 made = 0;
    while (in.at < in.end) {
        const int token = in.data[in.at++];
        const i64 literals = in.length(token >> 4);
        if (literals < 0 || literals > in.end - in.at || literals > room - made) return -1;
        for (i64 k = 0; k < literals; ++k) out[made + k] = in.data[in.at + k];
        in.at += literals;
        made += literals;
        if (in.at == in.end) return made;
        if (in.end - in.at < 2) return -1;
        const i64 offset = in.data[in.at] | in.data[in.at + 1] << 8;
        in.at += 2;
        const i64 extra = in.length(token & 15);
        if (extra < 0 || offset == 0 || offset > made || extra + 4 > room - made) return -1;
        for (i64 k = 0; k < extra + 4; ++k, ++made) out[made] = out[made - offset];
    }
    return -1;
}

__device__ void unpack_lz4(const UnpackLz4Sample* table, const UnpackLz4Param& param) {
    FOR_SAMPLES(s) {
        const UnpackLz4Sample& sample = table[s];
        FOR_ELEMENTS(i, 1) {
            u8* out = (u8*)sample.out;
            const i64 made = unpack_block({(const u8*)sample.data, 0, sample.packed}, out, sample.room);
            for (i64 k = larger(made, (i64)0); k < sample.room; ++k) out[k] = 0;
            *(i64*)sample.out_made = made;
        }
    }
}
