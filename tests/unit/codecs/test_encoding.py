"""Encoded pictures: compression against NVIDIA DALI's."""

from __future__ import annotations

import numpy as np
import pytest

from dali_lab.codecs import encoding
from dali_lab.codecs.encoded import CodecError
from tests.unit.codecs import oracle, pictures
from tests.unit.codecs.decoding import decode_one


@pytest.mark.parametrize("quality", [1, 5, 50, 75, 95, 100])
def test_jpeg_round_trip_equals_dali(quality: int) -> None:
    fn = oracle.fn
    for picture in (pictures.rgb(), pictures.rgb()[:1, :1], pictures.rgb()[:17, :8]):
        source = np.ascontiguousarray(picture)

        @oracle.pipeline_def(batch_size=1, num_threads=1, device_id=None)
        def pipeline(source: np.ndarray = source) -> object:
            images = fn.external_source(source=lambda: [source], batch=True, layout="HWC")
            return fn.jpeg_compression_distortion(images, quality=quality)

        built = pipeline()
        built.build()
        np.testing.assert_array_equal(encoding.jpeg_round_trip(source, quality), np.array(built.run()[0].at(0)))


def test_jpeg_is_close() -> None:
    for array in (pictures.rgb(), pictures.gray()):
        back = decode_one(encoding.encode_jpeg(array, 95), output_type="ANY_DATA")
        assert np.abs(back.squeeze().astype(int) - array).mean() < 4


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="quality"):
        encoding.encode_jpeg(pictures.rgb(), 0)
    for wrong in (np.zeros((4, 4, 2), np.uint8), np.zeros((4, 4, 3), np.float32), np.zeros((0, 4, 3), np.uint8)):
        with pytest.raises(CodecError, match="cannot encode"):
            encoding.encode_jpeg(wrong)
    with pytest.raises(CodecError, match="RGB"):
        encoding.jpeg_round_trip(pictures.gray(), 50)
