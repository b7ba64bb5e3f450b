"""Training a classifier, as programs for NVIDIA DALI are written."""

import nvidia.dali.fn as fn
import nvidia.dali.types as types
from nvidia.dali.pipeline import pipeline_def
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy


@pipeline_def
def training(data_dir, crop, shard_id, num_shards, dali_cpu=False, is_training=True):
    """Decode, crop and normalise."""
    images, labels = fn.readers.file(
        file_root=data_dir,
        shard_id=shard_id,
        num_shards=num_shards,
        random_shuffle=is_training,
        pad_last_batch=True,
        name="Reader",
    )
    dali_device = "cpu" if dali_cpu else "gpu"
    decoder_device = "cpu" if dali_cpu else "mixed"
    if is_training:
        # Decode only what is used.
        images = fn.decoders.image_random_crop(
            images, device=decoder_device, output_type=types.RGB, random_area=[0.1, 1.0], num_attempts=100
        )
        images = fn.resize(
            images, device=dali_device, resize_x=crop, resize_y=crop, interp_type=types.INTERP_TRIANGULAR
        )
        mirror = fn.random.coin_flip(probability=0.5)
    else:
        images = fn.decoders.image(images, device=decoder_device, output_type=types.RGB)
        mirror = False
    images = fn.crop_mirror_normalize(
        images.gpu(),
        dtype=types.FLOAT,
        output_layout="CHW",
        crop=(crop, crop),
        mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
        std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        mirror=mirror,
    )
    return images, labels.gpu()


if __name__ == "__main__":
    pipe = training(batch_size=4, num_threads=2, device_id=0, data_dir="/pictures", crop=224, shard_id=0, num_shards=1)
    for batch in DALIClassificationIterator([pipe], reader_name="Reader", last_batch_policy=LastBatchPolicy.PARTIAL):
        images, labels = batch[0]["data"], batch[0]["label"]
