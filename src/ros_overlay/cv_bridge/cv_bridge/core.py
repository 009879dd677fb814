# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The bridge between sensor_msgs images and OpenCV images (NumPy arrays)."""

from __future__ import annotations

import array
import sys

import cv2
import numpy as np
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import Header

from cv_bridge import encodings
from cv_bridge.conversion import convert
from cv_bridge.errors import CvBridgeError


class CvBridge:
    """Converts images in both directions."""

    def __init__(self) -> None:
        """Build upstream's tables between OpenCV's type numbers and their names."""
        self.cvtype_to_name = {
            getattr(cv2, f'CV_{depth}C{channels}'): f'{depth}C{channels}'
            for depth in encodings.DEPTHS
            for channels in (1, 2, 3, 4)
        }
        self.numpy_type_to_cvtype = dict(encodings.DEPTH_NAMES)
        self.numpy_type_to_cvtype.update({v: k for k, v in encodings.DEPTH_NAMES.items()})

    def dtype_with_channels_to_cvtype2(self, dtype: np.dtype, n_channels: int) -> str:
        """Return OpenCV's name of a type, such as '8UC3'.

        Raises:
            CvBridgeError: OpenCV has no such element type.
        """
        if dtype.name not in encodings.DEPTH_NAMES:
            known = ', '.join(encodings.DEPTH_NAMES)
            raise CvBridgeError(f'images of type {dtype.name} have no encoding; known: {known}')
        return f'{encodings.DEPTH_NAMES[dtype.name]}C{n_channels}'

    def cvtype2_to_dtype_with_channels(self, cvtype: int) -> tuple[str, int]:
        """Return NumPy's type name and the channels of an OpenCV type number."""
        depth, channels = encodings.depth_and_channels(self.cvtype_to_name[cvtype])
        return np.dtype(encodings.DEPTHS[depth]).name, channels

    def encoding_to_cvtype2(self, encoding: str) -> int:
        """Return the OpenCV type number of an encoding.

        Raises:
            CvBridgeError: The encoding is unknown.
        """
        depth, channels = encodings.depth_and_channels(encoding)
        return getattr(cv2, f'CV_{depth}C{channels}')

    def encoding_to_dtype_with_channels(self, encoding: str) -> tuple[str, int]:
        """Return NumPy's type name and the number of channels of an encoding.

        Raises:
            CvBridgeError: The encoding is unknown.
        """
        depth, channels = encodings.depth_and_channels(encoding)
        return np.dtype(encodings.DEPTHS[depth]).name, channels

    def imgmsg_to_cv2(self, img_msg: Image, desired_encoding: str = 'passthrough') -> np.ndarray:
        """Return the pixels of a message.

        Args:
            img_msg: Rows may be padded (step) and elements big-endian.
            desired_encoding: 'passthrough' leaves the pixels as they are.

        Returns:
            (H, W) for one channel, else (H, W, C), contiguous, native byte order. Planar formats
            have their chroma below: nv12 and nv21 (3H/2, W), nv24 (3H, W). Without padding and
            conversion the array shares the message's memory.

        Raises:
            CvBridgeError: An encoding is unknown, a conversion impossible, or there are fewer
                bytes than height and step say.
        """
        image = self._pixels(img_msg)
        if desired_encoding == 'passthrough':
            return image
        return convert(image, img_msg.encoding, desired_encoding)

    def _pixels(self, message: Image) -> np.ndarray:
        name, channels = self.encoding_to_dtype_with_channels(message.encoding)
        dtype = np.dtype(name).newbyteorder('>' if message.is_bigendian else '<')
        rows, per = encodings.PLANAR_HEIGHT.get(message.encoding, (1, 1))
        height, width = message.height * rows // per, message.width
        buffer = message.data
        if isinstance(buffer, list | tuple):
            buffer = array.array('B', buffer)
        pixel_bytes = dtype.itemsize * channels
        if message.step < width * pixel_bytes:
            raise CvBridgeError(
                f'step {message.step} is too small for {width} pixels of {message.encoding}'
            )
        needed = (height - 1) * message.step + width * pixel_bytes if height and width else 0
        if len(buffer) < needed:
            raise CvBridgeError(
                f'{len(buffer)} bytes of data, but {message.height} rows of {message.encoding} '
                f'with step {message.step} need {needed}'
            )
        shape: tuple[int, ...] = (height, width, channels)
        strides: tuple[int, ...] = (message.step, pixel_bytes, dtype.itemsize)
        if channels == 1:
            shape, strides = shape[:2], strides[:2]
        if not needed:
            return np.zeros(shape, dtype.newbyteorder('='))
        image = np.ndarray(shape, dtype, buffer=buffer, strides=strides)
        if dtype.itemsize > 1 and bool(message.is_bigendian) == (sys.byteorder == 'little'):
            return image.astype(dtype.newbyteorder('='))
        return np.ascontiguousarray(image)

    def cv2_to_imgmsg(
        self, cvim: np.ndarray, encoding: str = 'passthrough', header: Header | None = None
    ) -> Image:
        """Return a message with the pixels of an image.

        Args:
            cvim: (H, W) or (H, W, C).
            encoding: What the channels mean; 'passthrough' names the type only, such as '8UC3'.
            header: Of the message; an empty one by default.

        Raises:
            TypeError: cvim is no NumPy array.
            CvBridgeError: The encoding does not fit the image's type.
        """
        if not isinstance(cvim, np.ndarray | np.generic):
            raise TypeError('Your input type is not a numpy array')
        channels = 1 if cvim.ndim < 3 else cvim.shape[2]
        cv_type = self.dtype_with_channels_to_cvtype2(cvim.dtype, channels)
        message = Image()
        rows, per = encodings.PLANAR_HEIGHT.get(encoding, (1, 1))
        message.height = cvim.shape[0] * per // rows
        message.width = cvim.shape[1]
        if header is not None:
            message.header = header
        if encoding == 'passthrough':
            message.encoding = cv_type
        else:
            message.encoding = encoding
            expected = '{}C{}'.format(*encodings.depth_and_channels(encoding))
            if expected != cv_type:
                raise CvBridgeError(
                    f'encoding specified as {encoding}, but image has incompatible type {cv_type}'
                )
        message.is_bigendian = int(
            cvim.dtype.byteorder == '>' or (cvim.dtype.byteorder == '=' and sys.byteorder == 'big')
        )
        # An array is taken over as it is; anything else is checked element by element.
        message.data = array.array('B', cvim.tobytes())
        message.step = cvim.shape[1] * channels * cvim.dtype.itemsize
        return message

    def compressed_imgmsg_to_cv2(
        self, cmprs_img_msg: CompressedImage, desired_encoding: str = 'passthrough'
    ) -> np.ndarray:
        """Return the pixels of a JPEG or PNG message; colours are BGR by default.

        Raises:
            CvBridgeError: The data are no image, or the conversion is impossible.
        """
        buffer = np.frombuffer(bytes(cmprs_img_msg.data), np.uint8)
        image = cv2.imdecode(buffer, cv2.IMREAD_UNCHANGED) if buffer.size else None
        if image is None:
            raise CvBridgeError(
                f"{buffer.size} bytes of format '{cmprs_img_msg.format}' are not an image"
            )
        if desired_encoding == 'passthrough':
            return image
        return convert(image, _decoded_encoding(image), desired_encoding)

    def cv2_to_compressed_imgmsg(
        self, cvim: np.ndarray, dst_format: str = 'jpg', header: Header | None = None
    ) -> CompressedImage:
        """Return a message with an image in a file format.

        Args:
            cvim: (H, W) or (H, W, 3 or 4), colours in the order BGR(A).
            dst_format: The format's file name extension: jpg, jpeg, png ...
            header: Of the message; an empty one by default.

        Raises:
            TypeError: cvim is no NumPy array.
            CvBridgeError: The format cannot hold the image.
        """
        if not isinstance(cvim, np.ndarray | np.generic):
            raise TypeError('Your input type is not a numpy array')
        try:
            is_encoded, buffer = cv2.imencode('.' + dst_format, cvim)
        except cv2.error as error:
            raise CvBridgeError(f"cannot encode an image as '{dst_format}': {error}") from error
        if not is_encoded:
            raise CvBridgeError(f"cannot encode an image as '{dst_format}'")
        message = CompressedImage()
        if header is not None:
            message.header = header
        message.format = dst_format
        message.data = array.array('B', buffer.tobytes())
        return message


def _decoded_encoding(image: np.ndarray) -> str:
    """Return the encoding in which OpenCV decodes files."""
    channels = 1 if image.ndim < 3 else image.shape[2]
    size = image.dtype.itemsize * 8
    return {1: 'mono', 3: 'bgr', 4: 'bgra'}[channels] + str(size)
