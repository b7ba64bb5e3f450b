// Noise from the words of Philox4x32-10 that NVIDIA DALI draws: element p begins at word 257 p of its sample's sequence.

struct Block {
    u32 x, y, z, w;
    __device__ u32 word(int phase) const { return phase < 2 ? (phase == 0 ? x : y) : (phase == 2 ? z : w); }
};

__device__ inline Block philox_block(u64 key, u64 high, u64 low) {
    u32 x = (u32)low, y = (u32)(low >> 32), z = (u32)high, w = (u32)(high >> 32);
    u32 kx = (u32)key, ky = (u32)(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const u32 upper_x = __umulhi(0xD2511F53u, x), lower_x = 0xD2511F53u * x;
        const u32 upper_z = __umulhi(0xCD9E8D57u, z), lower_z = 0xCD9E8D57u * z;
        x = upper_z ^ y ^ kx;
        y = lower_z;
        z = upper_x ^ w ^ ky;
        w = lower_x;
        kx += 0x9E3779B9u;
        ky += 0xBB67AE85u;
    }
    return {x, y, z, w};
}

// The words of a sequence from a position on, one after the other.
struct Words {
    u64 key, high, low, position;
    Block block;
    template <class Param>
    __device__ Words(const Param& param, i64 high, i64 element)
        : key((u64)param.key), high((u64)high), low((u64)param.low), position((u64)element * 257 + (u64)param.phase) {
        fill();
    }
    __device__ u32 next() {
        const u32 word = block.word((int)(position & 3));
        if ((++position & 3) == 0) fill();
        return word;
    }
    __device__ void fill() {
        const u64 at = low + (position >> 2);
        block = philox_block(key, high + (at < low), at);
    }
    // Two words as one number, the lower half first.
    __device__ u64 next_pair() {
        const u64 low = next();
        return low | ((u64)next() << 32);
    }
};

// A standard normal number by Box and Muller; the sine is not used.
template <class R> __device__ inline R normal(Words& words);
template <> __device__ inline float normal<float>(Words& words) {
    float a = (float)words.next() * 2.3283064365386963e-10f;
    float b = (float)words.next() * 2.3283064365386963e-10f;
    if (a == 0.0f) {
        a = b == 0.0f ? 1e-30f : b;
        b = 0.0f;
    }
    return sqrtf(-2.0f * logf(a)) * cosf(6.283185307179586f * b);
}
template <> __device__ inline double normal<double>(Words& words) {
    double a = (double)words.next_pair() * 5.421010862427522e-20;
    double b = (double)words.next_pair() * 5.421010862427522e-20;
    if (a == 0.0) {
        a = b == 0.0 ? (double)1e-30f : b;
        b = 0.0;
    }
    const double angle = 6.283185307179586 * b;
    __builtin_assume(fabs(angle) < 7.0);  // else there is code for large angles, which takes memory
    return sqrt(-2.0 * log(a)) * cos(angle);
}
__device__ inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }

template <class T, class R> __device__ void gaussian(const GaussianSample* table, const GaussianParam& param) {
    FOR_SAMPLES(s) {
        const GaussianSample& sample = table[s];
        const T* data = (const T*)sample.data;
        T* out = (T*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            Words words(param, sample.high, i);
            const R number = multiply_add(normal<R>(words), (R)sample.stddev, (R)sample.mean);
            out[i] = saturate<T>((R)widen(data[i]) + number);
        }
    }
}

template <class T> __device__ void salt_and_pepper(const SaltAndPepperSample* table, const SaltAndPepperParam& param) {
    FOR_SAMPLES(s) {
        const SaltAndPepperSample& sample = table[s];
        const T* data = (const T*)sample.data;
        T* out = (T*)sample.out;
        const i64 pixel_step = param.planes ? 1 : sample.channels, channel_step = param.planes ? sample.pixels : 1;
        FOR_ELEMENTS(i, sample.pixels) {
            Words words(param, sample.high, i);
            const float number = fminf((float)words.next() * 2.3283064365386963e-10f, 0.99999994f);
            const bool replaced = number < sample.chance;
            const T value = (T)(number < sample.salt_chance ? sample.salt : sample.pepper);
            for (i64 c = 0, at = i * pixel_step; c < sample.channels; ++c, at += channel_step)
                out[at] = replaced ? value : data[at];
        }
    }
}

// Numbers below `count`: the lower bits of a word for a power of two, else the upper ones of a product.
__device__ inline int one_of(u32 word, int count) {
    return (count & (count - 1)) == 0 ? (int)(word & (u32)(count - 1)) : (int)__umulhi(word, (u32)count);
}

template <class T> __device__ void jitter(const JitterSample* table, const JitterParam& param) {
    FOR_SAMPLES(s) {
        const JitterSample& sample = table[s];
        const T* data = (const T*)sample.data;
        T* out = (T*)sample.out;
        const int height = sample.height, width = sample.width, channels = sample.channels;
        const int least = -(sample.degree >> 1);
        FOR_ELEMENTS(i, sample.total) {
            i64 from = i;
            if (sample.chosen) {
                const Divided pixel = divide(i, channels);
                const Divided at = divide(pixel.quotient, width);
                Words words(param, sample.high, i);
                const int x = clamp(at.rest + least + one_of(words.next(), sample.degree), 0, width - 1);
                const int y = clamp((int)at.quotient + least + one_of(words.next(), sample.degree), 0, height - 1);
                from = ((i64)y * width + x) * channels + pixel.rest;
            }
            out[i] = data[from];
        }
    }
}

// Distributions as libstdc++ makes them.
__device__ inline double canonical(Words& words) {
    const double low = (double)words.next();
    return smaller((low + (double)words.next() * 4294967296.0) * 5.421010862427522e-20, 1.0 - 1.1102230246251565e-16);
}

// Marsaglia's polar method, which makes two numbers at a time.
struct Normals {
    bool kept;
    double second;
    __device__ double next(Words& words) {
        if (kept) {
            kept = false;
            return second;
        }
        double x, y, square;
        do {
            x = 2.0 * canonical(words) - 1.0;
            y = 2.0 * canonical(words) - 1.0;
            square = x * x + y * y;
        } while (square > 1.0 || square == 0.0);
        const double factor = sqrt(-2.0 * log(square) / square);
        kept = true;
        second = x * factor;
        return y * factor;
    }
};

__device__ inline double poisson(Words& words, double mean) {
    if (mean < 12.0) {
        const double limit = exp(-mean);
        double product = canonical(words), count = 0.0;
        while (product > limit) {
            product *= canonical(words);
            count += 1.0;
        }
        return count;
    }
    Normals normals = {false, 0.0};
    const double m = floor(mean), log_mean = log(mean), log_factorial = lgamma(m + 1.0), root = sqrt(m);
    const double quarter = 0.7853981633974483;
    const double reach = sqrt(2.0 * m * log(32.0 * m / quarter));
    const double d = floor(larger(6.0, smaller(m, reach)) + 0.5);
    const double cx = 2.0 * m + d, scx = sqrt(cx / 2.0), inverse = 1.0 / cx;
    const double c1 = root * 1.2533141373155002;
    const double c2 = sqrt(quarter * cx) * exp(inverse) + c1;
    const double c3 = c2 + 1.0, c4 = c3 + 1.0, c5 = c4 + 1.0129030479320018;
    const double c = 2.0 * cx * exp(-d * inverse * (1.0 + d / 2.0)) / d + c5;
    const double almost_half = (1.0 - 2.220446049250313e-16) / 2.0, top = 4294967295.0 + almost_half;
    while (true) {
        const double u = c * canonical(words), e = -log(1.0 - canonical(words));
        double w = 0.0, x;
        if (u <= c1) {
            const double n = normals.next(words);
            x = floor(-fabs(n) * root - 1.0);
            w = -n * n / 2.0;
            if (x < -m) continue;
        } else if (u <= c2) {
            const double n = normals.next(words);
            const double y = 1.0 + fabs(n) * scx;
            x = ceil(y);
            w = y * (2.0 - y) * inverse;
            if (x > d) continue;
        } else if (u <= c3) {
            x = -1.0;
        } else if (u <= c4) {
            x = 0.0;
        } else if (u <= c5) {
            x = 1.0;
            w = 0.01282051282051282;
        } else {
            const double y = d - log(1.0 - canonical(words)) * (2.0 * cx) / d;
            x = ceil(y);
            w = -d * inverse * (1.0 + y / 2.0);
        }
        if (w - e - x * log_mean > log_factorial - lgamma(x + m + 1.0) || x + m >= top) continue;
        return floor(x + m + almost_half);
    }
}

template <class T> __device__ void shot(const ShotSample* table, const ShotParam& param) {
    FOR_SAMPLES(s) {
        const ShotSample& sample = table[s];
        const T* data = (const T*)sample.data;
        T* out = (T*)sample.out;
        const float factor = sample.factor;
        FOR_ELEMENTS(i, sample.total) {
            if (factor == 0.0f) {
                out[i] = (T)0;
                continue;
            }
            const float scaled = (float)widen(data[i]) * (1.0f / factor);
            const float mean = scaled > 0.0f ? scaled : 0.0f;
            if (!(mean < 4.29e9f)) {
                out[i] = data[i];
                continue;
            }
            Words words(param, sample.high, i);
            out[i] = saturate<T>((float)poisson(words, (double)mean) * factor);
        }
    }
}
