"""Loops, conditions, sound, sources in Python and a block."""

import numpy as np
from nvidia.dali import Pipeline, fn, pipeline_def, types
from nvidia.dali.auto_aug import trivial_augment

augmentations = {
    "rotate": lambda image: fn.rotate(image, angle=fn.random.uniform(range=(-90, 90)), fill_value=0),
    "warp": lambda image: fn.warp_affine(image, matrix=(1.0, 0.8, 0.0, 0.0, 1.2, 0.0), fill_value=128),
    "blur": lambda image: fn.gaussian_blur(image, window_size=11),
}


@pipeline_def(num_threads=4, device_id=None, batch_size=4)
def gallery(folder="/pictures"):
    """Every augmentation of one picture."""
    encoded, _ = fn.readers.file(file_root=folder)
    images = fn.decoders.image(encoded, output_type=types.RGB)
    return tuple(augment(images) for augment in augmentations.values())


@pipeline_def(enable_conditionals=True, batch_size=8, num_threads=2, device_id=None)
def sometimes():
    """Rotate some pictures."""
    image = fn.external_source(name="image", layout="HWC")
    do_rotate = fn.random.coin_flip(probability=0.25, dtype=types.DALIDataType.BOOL)
    if do_rotate:
        result = fn.rotate(image, angle=fn.random.uniform(range=(10, 30)), fill_value=0)
    else:
        result = image
    return result, do_rotate


@pipeline_def(enable_conditionals=True, batch_size=8, num_threads=2, device_id=None)
def augmented():
    """One of many augmentations, of a random strength."""
    image = fn.external_source(name="image", layout="HWC")
    return trivial_augment.trivial_augment_wide(image)


@pipeline_def
def spectra(nfft, device="cpu"):
    """Spectrogram of one sound."""
    audio = types.Constant(device=device, value=np.zeros(16000, np.float32))
    spectrogram = fn.spectrogram(audio, device=device, nfft=nfft, window_length=512, window_step=256)
    mel = fn.mel_filter_bank(spectrogram, sample_rate=16000, nfilter=128, freq_high=8000.0)
    return fn.mfcc(fn.to_decibels(mel, multiplier=10.0, cutoff_db=-80), axis=0, dct_type=2, n_mfcc=40, normalize=True)


class Numbers:
    """A source that is iterated over."""

    def __iter__(self):
        return self

    def __next__(self):
        return [np.zeros(5, np.uint8)] * 4, [np.uint8([1])] * 4


block = Pipeline(batch_size=4, num_threads=2, device_id=0)
with block:
    jpegs, labels = fn.external_source(source=Numbers(), num_outputs=2, dtype=types.UINT8)
    decode = fn.decoders.image(jpegs, device="mixed", output_type=types.RGB)
    enhance = fn.brightness_contrast(decode, device="gpu", contrast=2)
    block.set_outputs(enhance, labels)
