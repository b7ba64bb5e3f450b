// Boxes and points: mirrored, transformed, matched with anchors.

__device__ inline void mirror(float& low, float& high) {
    const float mirrored = 1.0f - high;
    high = 1.0f - low;
    low = mirrored;
}

// One thread a box.
__device__ void flip_boxes(const FlipBoxesSample* table, const FlipBoxesParam& param) {
    FOR_SAMPLES(s) {
        const FlipBoxesSample& sample = table[s];
        const float* data = (const float*)sample.data;
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            float left = data[4 * i], top = data[4 * i + 1], right = data[4 * i + 2], bottom = data[4 * i + 3];
            // Sizes are rounded through the far corner even where nothing is mirrored.
            if (param.by_size) {
                right += left;
                bottom += top;
            }
            if (sample.horizontal) mirror(left, right);
            if (sample.vertical) mirror(top, bottom);
            out[4 * i] = left;
            out[4 * i + 1] = top;
            out[4 * i + 2] = param.by_size ? right - left : right;
            out[4 * i + 3] = param.by_size ? bottom - top : bottom;
        }
    }
}

__device__ void flip_points(const FlipPointsSample* table, const FlipPointsParam& param) {
    FOR_SAMPLES(s) {
        const FlipPointsSample& sample = table[s];
        const float* data = (const float*)sample.data;
        float* out = (float*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const int axis = divide(i, param.width).rest;
            out[i] = sample.flips[axis] ? 2.0f * sample.center[axis] - data[i] : data[i];
        }
    }
}

// One thread a coordinate: a row of the matrix times the point, plus the offset.
template <class In, class Out> __device__ void transform_points(const TransformPointsSample* table, const TransformPointsParam& param) {
    FOR_SAMPLES(s) {
        const TransformPointsSample& sample = table[s];
        const In* data = (const In*)sample.data;
        const float* matrix = (const float*)sample.matrix;
        const float* offset = (const float*)sample.offset;
        Out* out = (Out*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            const Divided at = divide(i, param.rows);
            float sum = 0.0f;
            for (int c = 0; c < param.width; ++c) {
                sum = sum + (float)widen(data[at.quotient * param.width + c]) * matrix[at.rest * param.width + c];
            }
            out[i] = saturate<Out>(sum + offset[at.rest]);
        }
    }
}

// Intersection over union of two boxes given by two corners; 0 where they do not overlap.
__device__ inline float overlap(const float* a, const float* b) {
    const float width = smaller(a[2], b[2]) - larger(a[0], b[0]);
    const float height = smaller(a[3], b[3]) - larger(a[1], b[1]);
    if (width <= 0 || height <= 0) return 0.0f;
    const float common = width * height;
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common);
}

// The best matching anchor of each box; on a tie the last one.
__device__ void favourite_anchors(const FavouriteAnchorsSample* table, const FavouriteAnchorsParam& param) {
    FOR_SAMPLES(s) {
        const FavouriteAnchorsSample& sample = table[s];
        const float* boxes = (const float*)sample.boxes;
        const float* anchors = (const float*)sample.anchors;
        int* out = (int*)sample.out;
        FOR_ELEMENTS(i, sample.total) {
            float highest = -1.0f;
            int favourite = 0;
            for (int a = 0; a < param.anchors; ++a) {
                const float value = overlap(boxes + 4 * i, anchors + 4 * a);
                if (value >= highest) {
                    highest = value;
                    favourite = a;
                }
            }
            out[i] = favourite;
        }
    }
}

// One thread an anchor.
__device__ void encode_boxes(const EncodeBoxesSample* table, const EncodeBoxesParam& param) {
    FOR_SAMPLES(s) {
        const EncodeBoxesSample& sample = table[s];
        const float* boxes = (const float*)sample.boxes;
        const int* labels = (const int*)sample.labels;
        const int* favourites = (const int*)sample.favourites;
        const float* anchors = (const float*)sample.anchors;
        float* out = (float*)sample.out;
        int* classes = (int*)sample.out_classes;
        FOR_ELEMENTS(i, sample.total) {
            const float* anchor = anchors + 4 * i;
            float best = -1.0f;
            int chosen = -1;
            for (int b = 0; b < sample.count; ++b) {
                const float value = overlap(boxes + 4 * b, anchor);
                if (value >= best) {
                    best = value;
                    chosen = b;
                }
                if (favourites[b] == (int)i) {
                    best = 2.0f;
                    chosen = b;
                }
            }
            const float width = anchor[2] - anchor[0], height = anchor[3] - anchor[1];
            const float x = (anchor[0] + anchor[2]) * 0.5f, y = (anchor[1] + anchor[3]) * 0.5f;
            float* result = out + 4 * i;
            if (chosen < 0 || !(best > param.criteria)) {
                classes[i] = 0;
                result[0] = param.offset ? 0.0f : x;
                result[1] = param.offset ? 0.0f : y;
                result[2] = param.offset ? 0.0f : width;
                result[3] = param.offset ? 0.0f : height;
                continue;
            }
            const float* box = boxes + 4 * chosen;
            classes[i] = labels[chosen];
            const float bw = box[2] - box[0], bh = box[3] - box[1];
            const float bx = (box[0] + box[2]) * 0.5f, by = (box[1] + box[3]) * 0.5f;
            if (!param.offset) {
                result[0] = bx;
                result[1] = by;
                result[2] = bw;
                result[3] = bh;
                continue;
            }
            const float scale = param.scale;
            result[0] = ((bx * scale - x * scale) / (width * scale) - param.means[0]) / param.stds[0];
            result[1] = ((by * scale - y * scale) / (height * scale) - param.means[1]) / param.stds[1];
            result[2] = ((float)log((double)((bw * scale) / (width * scale))) - param.means[2]) / param.stds[2];
            result[3] = ((float)log((double)((bh * scale) / (height * scale))) - param.means[3]) / param.stds[3];
        }
    }
}
