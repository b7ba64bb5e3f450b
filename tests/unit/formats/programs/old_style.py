"""A pipeline class with operators as objects."""

import nvidia.dali.ops as ops
import nvidia.dali.types as types
from nvidia.dali.pipeline import Pipeline


class Training(Pipeline):
    """Flip and normalise."""

    def __init__(self, batch_size, num_threads, device_id, root="/pictures"):
        super().__init__(batch_size, num_threads, device_id, seed=42)
        self.input = ops.FileReader(file_root=root, random_shuffle=True)
        self.decode = ops.ImageDecoder(device="cpu", output_type=types.RGB)
        self.resize = ops.Resize(device="cpu", resize_x=300, resize_y=300, min_filter=types.INTERP_TRIANGULAR)
        self.twist = ops.ColorTwist(device="cpu")
        self.normalize = ops.CropMirrorNormalize(device="cpu", crop=(300, 300), mean=[123.0], std=[58.0])
        self.coin = ops.CoinFlip(probability=0.5)
        self.uniform = ops.Uniform(range=[0.5, 1.5])

    def define_graph(self):
        """The outputs."""
        saturation = self.uniform()
        coin = self.coin()
        inputs, labels = self.input(name="Reader")
        images = self.decode(inputs)
        images = self.resize(images)
        images = self.twist(images, saturation=saturation)
        images = self.normalize(images, mirror=coin)
        return images, labels
