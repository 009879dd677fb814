# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Round trips of every encoding, with padding and both byte orders, and the conversions."""

import array
import sys

import cv2
import numpy as np
import pytest
from cv_bridge import CvBridge, CvBridgeError
from hypothesis import given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import Header

BRIDGE = CvBridge()
RNG = np.random.default_rng(7)
ENCODINGS = {
    'rgb8': (np.uint8, 3),
    'bgr8': (np.uint8, 3),
    'rgba8': (np.uint8, 4),
    'bgra8': (np.uint8, 4),
    'rgb16': (np.uint16, 3),
    'bgr16': (np.uint16, 3),
    'rgba16': (np.uint16, 4),
    'bgra16': (np.uint16, 4),
    'mono8': (np.uint8, 1),
    'mono16': (np.uint16, 1),
    '8UC1': (np.uint8, 1),
    '8UC2': (np.uint8, 2),
    '8UC3': (np.uint8, 3),
    '8UC4': (np.uint8, 4),
    '8SC1': (np.int8, 1),
    '16UC1': (np.uint16, 1),
    '16SC1': (np.int16, 1),
    '16SC3': (np.int16, 3),
    '32SC1': (np.int32, 1),
    '32FC1': (np.float32, 1),
    '32FC4': (np.float32, 4),
    '64FC1': (np.float64, 1),
    'bayer_rggb8': (np.uint8, 1),
    'bayer_bggr8': (np.uint8, 1),
    'bayer_gbrg8': (np.uint8, 1),
    'bayer_grbg8': (np.uint8, 1),
    'bayer_rggb16': (np.uint16, 1),
    'uyvy': (np.uint8, 2),
    'yuv422': (np.uint8, 2),
    'yuyv': (np.uint8, 2),
    'yuv422_yuy2': (np.uint8, 2),
}


def random_image(height, width, dtype, channels):
    """Return an image of random bits, finite where the type has numbers that are not."""
    shape = (height, width) if channels == 1 else (height, width, channels)
    if np.dtype(dtype).kind == 'f':
        return RNG.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def message_of(image, encoding, padding=0, big_endian=False):
    """Build a message by hand, byte by byte."""
    message = Image(height=image.shape[0], width=image.shape[1], encoding=encoding)
    rows = image.astype(image.dtype.newbyteorder('>' if big_endian else '<'))
    row_bytes = [row.tobytes() + b'\xee' * padding for row in rows]
    message.step = len(row_bytes[0])
    message.is_bigendian = int(big_endian)
    message.data = array.array('B', b''.join(row_bytes))
    return message


@pytest.mark.parametrize('encoding', ENCODINGS)
def test_round_trip(encoding):
    dtype, channels = ENCODINGS[encoding]
    image = random_image(6, 8, dtype, channels)
    header = Header(frame_id='camera')
    message = BRIDGE.cv2_to_imgmsg(image, encoding, header)
    assert (message.height, message.width, message.encoding) == (6, 8, encoding)
    assert message.step == 8 * channels * np.dtype(dtype).itemsize
    assert message.header.frame_id == 'camera'
    assert not message.is_bigendian
    back = BRIDGE.imgmsg_to_cv2(message)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, image)
    assert BRIDGE.encoding_to_dtype_with_channels(encoding) == (np.dtype(dtype).name, channels)


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(sorted(ENCODINGS)),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 7),
    st.booleans(),
)
def test_padding_and_byte_order_do_not_change_the_pixels(
    encoding, height, width, padding, big_endian
):
    dtype, channels = ENCODINGS[encoding]
    image = random_image(height, width, dtype, channels)
    back = BRIDGE.imgmsg_to_cv2(message_of(image, encoding, padding, big_endian))
    assert back.dtype == np.dtype(dtype)
    assert back.dtype.isnative
    assert back.flags.c_contiguous
    np.testing.assert_array_equal(back, image)


def test_passthrough_names_the_type():
    assert BRIDGE.cv2_to_imgmsg(np.zeros((2, 3, 3), np.uint8)).encoding == '8UC3'
    assert BRIDGE.cv2_to_imgmsg(np.zeros((2, 3), np.float32)).encoding == '32FC1'


def test_big_endian_arrays_say_so():
    image = np.arange(6, dtype='>u2').reshape(2, 3)
    message = BRIDGE.cv2_to_imgmsg(image, '16UC1')
    assert message.is_bigendian == 1
    np.testing.assert_array_equal(BRIDGE.imgmsg_to_cv2(message), image)


def test_the_image_shares_the_memory_of_an_unpadded_message():
    message = BRIDGE.cv2_to_imgmsg(np.zeros((2, 3), np.uint8), 'mono8')
    BRIDGE.imgmsg_to_cv2(message)[1, 2] = 9
    assert message.data[5] == 9


def test_depth_with_invalid_values_survives():
    depth = np.array([[np.nan, np.inf, 0.0, 1.5]], np.float32)
    back = BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(depth, '32FC1'), '32FC1')
    np.testing.assert_array_equal(back, depth)


@pytest.mark.parametrize('source', ['rgb8', 'bgr8', 'rgba8', 'bgra8'])
@pytest.mark.parametrize('target', ['rgb8', 'bgr8', 'rgba8', 'bgra8', 'mono8'])
def test_colours_are_reordered(source, target):
    image = random_image(5, 7, *ENCODINGS[source])
    planes = dict(zip(source, np.moveaxis(image, -1, 0)))
    planes.setdefault('a', np.full((5, 7), 255, np.uint8))
    result = BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(image, source), target)
    if target == 'mono8':
        grey = 0.299 * planes['r'] + 0.587 * planes['g'] + 0.114 * planes['b']
        assert np.abs(result - grey).max() <= 1.0
    else:
        letters = target.rstrip('8')
        np.testing.assert_array_equal(result, np.stack([planes[c] for c in letters], axis=-1))


def test_eight_and_sixteen_bits_scale_into_each_other():
    image = np.array([[0, 1, 128, 255]], np.uint8)
    wide = BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(image, 'mono8'), 'mono16')
    np.testing.assert_array_equal(wide, image.astype(np.uint16) * 257)
    back = BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(wide, 'mono16'), 'mono8')
    np.testing.assert_array_equal(back, image)
    colour = random_image(4, 4, np.uint8, 3)
    swapped = BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(colour, 'rgb8'), 'bgr16')
    np.testing.assert_array_equal(swapped, colour[..., ::-1].astype(np.uint16) * 257)


def test_numbers_are_rounded_and_limited():
    depth = np.array([[-3.0, 0.4, 1.6, 70000.0, np.nan]], np.float32)
    result = BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(depth, '32FC1'), '16UC1')
    np.testing.assert_array_equal(result, [[0, 0, 2, 65535, 0]])
    as_float = BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(result, '16UC1'), '32FC1')
    np.testing.assert_array_equal(as_float, result.astype(np.float32))


@pytest.mark.parametrize(
    ('pattern', 'rows'), [('rggb', ('rg', 'gb')), ('bggr', ('bg', 'gr')), ('gbrg', ('gb', 'rg'))]
)
def test_bayer_patterns(pattern, rows):
    colour = {'r': 200, 'g': 120, 'b': 40}
    mosaic = np.array([[colour[c] for c in row] for row in rows], np.uint8)
    mosaic = np.tile(mosaic, (4, 4))
    message = BRIDGE.cv2_to_imgmsg(mosaic, f'bayer_{pattern}8')
    result = BRIDGE.imgmsg_to_cv2(message, 'rgb8')
    np.testing.assert_array_equal(result[2:-2, 2:-2], np.full((4, 4, 3), [200, 120, 40]))


@pytest.mark.parametrize(
    'encoding', ['uyvy', 'yuv422', 'yuyv', 'yuv422_yuy2', 'nv12', 'nv21', 'nv24']
)
def test_yuv_of_a_plain_colour(encoding):
    rgb = np.full((4, 8, 3), (180, 90, 30), np.uint8)
    y, u, v = (int(x) for x in _yuv(180, 90, 30))
    if encoding in ('uyvy', 'yuv422'):
        image = np.tile(np.array([[u, y], [v, y]], np.uint8), (4, 4, 1))
    elif encoding in ('yuyv', 'yuv422_yuy2'):
        image = np.tile(np.array([[y, u], [y, v]], np.uint8), (4, 4, 1))
    else:
        pair = (v, u) if encoding == 'nv21' else (u, v)
        rows = 8 if encoding == 'nv24' else 2
        chroma = np.tile(np.array(pair, np.uint8), (rows, 4))
        image = np.concatenate([np.full((4, 8), y, np.uint8), chroma])
    message = BRIDGE.cv2_to_imgmsg(image, encoding)
    assert (message.height, message.width) == (4, 8)
    result = BRIDGE.imgmsg_to_cv2(message, 'rgb8')
    assert result.shape == (4, 8, 3)
    assert np.abs(result.astype(int) - rgb).max() <= 3
    grey = BRIDGE.imgmsg_to_cv2(message, 'mono8')
    np.testing.assert_array_equal(grey, np.full((4, 8), y))


def _yuv(r, g, b):
    """Return BT.601 values in video range."""
    return (
        16 + 0.257 * r + 0.504 * g + 0.098 * b + 0.5,
        128 - 0.148 * r - 0.291 * g + 0.439 * b + 0.5,
        128 + 0.439 * r - 0.368 * g - 0.071 * b + 0.5,
    )


@pytest.mark.parametrize(
    ('source', 'target', 'text'),
    [
        ('32FC1', 'rgb8', 'is not a color format. but [rgb8] is'),
        ('8UC3', 'bgr8', 'The conversion does not make sense'),
        ('16UC1', '8UC3', 'do not have the same number of channel'),
        ('rgb8', '8UC1', 'must have the same OpenCV type'),
        ('rgb8', 'bayer_rggb8', 'Unsupported conversion from [rgb8] to [bayer_rggb8]'),
        ('bayer_rggb8', 'rgba8', 'Unsupported conversion'),
        ('rgb8', 'purple9', 'Unrecognized image encoding [purple9]'),
    ],
)
def test_senseless_conversions_are_refused(source, target, text):
    image = random_image(4, 4, *ENCODINGS[source])
    with pytest.raises(CvBridgeError) as caught:
        BRIDGE.imgmsg_to_cv2(BRIDGE.cv2_to_imgmsg(image, source), target)
    assert text in str(caught.value)


def test_wrong_input_is_refused():
    with pytest.raises(CvBridgeError, match='incompatible type 8UC1'):
        BRIDGE.cv2_to_imgmsg(np.zeros((2, 2), np.uint8), 'rgb8')
    with pytest.raises(TypeError, match='not a numpy array'):
        BRIDGE.cv2_to_imgmsg([[1]], 'mono8')
    with pytest.raises(CvBridgeError, match='int64'):
        BRIDGE.cv2_to_imgmsg(np.zeros((2, 2), np.int64))
    short = BRIDGE.cv2_to_imgmsg(np.zeros((2, 2), np.uint8), 'mono8')
    short.data = short.data[:3]
    with pytest.raises(CvBridgeError, match='3 bytes of data'):
        BRIDGE.imgmsg_to_cv2(short)
    narrow = BRIDGE.cv2_to_imgmsg(np.zeros((2, 2), np.uint8), 'mono8')
    narrow.step = 1
    with pytest.raises(CvBridgeError, match='step 1 is too small'):
        BRIDGE.imgmsg_to_cv2(narrow)


def test_compressed_round_trips():
    colour = cv2.GaussianBlur(random_image(32, 32, np.uint8, 3), (15, 15), 0)
    png = BRIDGE.cv2_to_compressed_imgmsg(colour, 'png')
    assert png.format == 'png'
    np.testing.assert_array_equal(BRIDGE.compressed_imgmsg_to_cv2(png), colour)
    rgb = BRIDGE.compressed_imgmsg_to_cv2(png, 'rgb8')
    np.testing.assert_array_equal(rgb, colour[..., ::-1])
    jpeg = BRIDGE.compressed_imgmsg_to_cv2(BRIDGE.cv2_to_compressed_imgmsg(colour))
    assert np.abs(jpeg.astype(int) - colour).mean() < 5
    depth = random_image(8, 8, np.uint16, 1)
    back = BRIDGE.compressed_imgmsg_to_cv2(BRIDGE.cv2_to_compressed_imgmsg(depth, 'png'))
    np.testing.assert_array_equal(back, depth)
    for data in (b'', b'no image'):
        with pytest.raises(CvBridgeError, match='are not an image'):
            BRIDGE.compressed_imgmsg_to_cv2(CompressedImage(format='png', data=data))
    with pytest.raises(CvBridgeError, match='cannot encode'):
        BRIDGE.cv2_to_compressed_imgmsg(colour, 'nonsense')


def test_opencv_type_numbers_round_trip():
    for encoding, (dtype, channels) in ENCODINGS.items():
        number = BRIDGE.encoding_to_cvtype2(encoding)
        assert BRIDGE.cvtype2_to_dtype_with_channels(number) == (np.dtype(dtype).name, channels)
    assert sys.byteorder == 'little', 'the tests build their messages for this'
