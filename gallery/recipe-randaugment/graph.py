"""RandAugment: two augmentations with magnitude 15 of 30."""

from dali_lab import fn, pipeline_def
from dali_lab.auto_aug import rand_augment


@pipeline_def(batch_size=4, num_threads=2, seed=42, prefetch_queue_depth=2, enable_conditionals=True)
def pipeline():
    encoded, _ = fn.readers.file(file_root="$photographs", random_shuffle=True, initial_fill=16, name="reader")
    decoded = fn.decoders.image(encoded)
    photo = fn.resize(decoded, size=[448, 448])
    return rand_augment.rand_augment(photo, n=2, m=15, shape=[448, 448])
