"""AutoAugment with the policy for ImageNet."""

from dali_lab import fn, pipeline_def
from dali_lab.auto_aug import auto_augment


@pipeline_def(batch_size=4, num_threads=2, seed=42, prefetch_queue_depth=2, enable_conditionals=True)
def pipeline():
    encoded, _ = fn.readers.file(file_root="$photographs", random_shuffle=True, initial_fill=16, name="reader")
    decoded = fn.decoders.image(encoded)
    photo = fn.resize(decoded, size=[448, 448])
    return auto_augment.auto_augment(photo, shape=[448, 448])
