/* C functions as operators of DALI Lab: fn.experimental.c_function, registered with dali_lab.plugin.c.register.
 *
 * A function gets a chunk of a batch, writes the outputs and returns 0. It is called without Python's lock, from several
 * threads at a time with different chunks. Fields are only ever added at the ends of the structures.
 */
#ifndef DALI_LAB_H
#define DALI_LAB_H

#include <stdint.h>

#define DALI_LAB_VERSION 1

#ifdef __cplusplus
extern "C" {
#endif

/* Types of elements, with NVIDIA DALI's numbers. */
enum {
    DALI_LAB_UINT8 = 0,
    DALI_LAB_UINT16 = 1,
    DALI_LAB_UINT32 = 2,
    DALI_LAB_UINT64 = 3,
    DALI_LAB_INT8 = 4,
    DALI_LAB_INT16 = 5,
    DALI_LAB_INT32 = 6,
    DALI_LAB_INT64 = 7,
    DALI_LAB_FLOAT16 = 8,
    DALI_LAB_FLOAT = 9,
    DALI_LAB_FLOAT64 = 10,
    DALI_LAB_BOOL = 11
};

/* The samples of one input or output. */
typedef struct {
    int32_t type;          /* of the elements */
    int32_t ndim;          /* number of dimensions */
    void *const *data;     /* data[sample]: the first element; samples have no gaps, the last dimension is innermost */
    const int64_t *shapes; /* shapes[sample * ndim + dimension] */
} dali_lab_samples;

typedef struct {
    int32_t version; /* DALI_LAB_VERSION of the caller */
    int32_t inputs;  /* number of inputs */
    int32_t outputs; /* number of outputs */
    int32_t numbers; /* numbers of a sample */
    int64_t samples; /* samples in the chunk */
    const dali_lab_samples *in;  /* in[input] */
    const dali_lab_samples *out; /* out[output], to be written */
    const double *number;        /* number[sample * numbers + index] */
    char *message;               /* for the text of an error, in UTF-8 */
    int64_t message_size;        /* bytes there, with the 0 at the end */
    int64_t failed;              /* set it to the sample at fault; -1 is all of them */
} dali_lab_chunk;

/* Returns 0, or anything else for an error. */
typedef int dali_lab_function(dali_lab_chunk *chunk);

#ifdef __cplusplus
}
#endif

#endif
