# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations as tuples of floats: quaternions (x, y, z, w) and row-major 3x3 matrices.

Tuples and not arrays: for three numbers NumPy's call overhead is ten times the arithmetic. The
conversions keep tf2's choice of the quaternion's sign, which callers can see in the result.
"""

import math

Quaternion = tuple[float, float, float, float]
Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]

IDENTITY: Quaternion = (0.0, 0.0, 0.0, 1.0)
ORIGIN: Vector = (0.0, 0.0, 0.0)


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the Hamilton product: the rotation b followed by the rotation a."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by + ay * bw + az * bx - ax * bz,
        aw * bz + az * bw + ax * by - ay * bx,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """Return the inverse of a unit quaternion."""
    return (-q[0], -q[1], -q[2], q[3])


def rotate(q: Quaternion, v: Vector) -> Vector:
    """Rotate a vector by a unit quaternion."""
    x, y, z, _ = multiply(multiply(q, (v[0], v[1], v[2], 0.0)), conjugate(q))
    return (x, y, z)


def matrix_from_quaternion(q: Quaternion) -> Matrix:
    """Return the rotation matrix of a quaternion of any length; NaN for the zero quaternion."""
    x, y, z, w = q
    squared = x * x + y * y + z * z + w * w
    scale = 2.0 / squared if squared != 0.0 else math.inf
    xs, ys, zs = x * scale, y * scale, z * scale
    wx, wy, wz = w * xs, w * ys, w * zs
    xx, xy, xz = x * xs, x * ys, x * zs
    yy, yz, zz = y * ys, y * zs, z * zs
    return (
        (1.0 - (yy + zz), xy - wz, xz + wy),
        (xy + wz, 1.0 - (xx + zz), yz - wx),
        (xz - wy, yz + wx, 1.0 - (xx + yy)),
    )


def quaternion_from_matrix(m: Matrix) -> Quaternion:
    """Return the unit quaternion of a rotation matrix.

    The component with the largest magnitude is made positive (w whenever the trace is positive).
    """
    trace = m[0][0] + m[1][1] + m[2][2]
    if trace > 0.0:
        root = math.sqrt(trace + 1.0)
        half = 0.5 / root
        return (
            (m[2][1] - m[1][2]) * half,
            (m[0][2] - m[2][0]) * half,
            (m[1][0] - m[0][1]) * half,
            root * 0.5,
        )
    if m[0][0] < m[1][1]:
        i = 2 if m[1][1] < m[2][2] else 1
    else:
        i = 2 if m[0][0] < m[2][2] else 0
    j, k = (i + 1) % 3, (i + 2) % 3
    root = math.sqrt(m[i][i] - m[j][j] - m[k][k] + 1.0)
    half = 0.5 / root
    q = [0.0, 0.0, 0.0, (m[k][j] - m[j][k]) * half]
    q[i] = root * 0.5
    q[j] = (m[j][i] + m[i][j]) * half
    q[k] = (m[k][i] + m[i][k]) * half
    return (q[0], q[1], q[2], q[3])


def canonical(q: Quaternion) -> Quaternion:
    """Return the quaternion as it comes out of a rotation matrix: unit length, tf2's sign."""
    return quaternion_from_matrix(matrix_from_quaternion(q))


def multiply_matrices(a: Matrix, b: Matrix) -> Matrix:
    """Return the product a b."""
    columns = tuple(zip(*b, strict=True))
    rows = tuple(
        tuple(row[0] * c[0] + row[1] * c[1] + row[2] * c[2] for c in columns) for row in a
    )
    return rows  # type: ignore[return-value]


def apply_matrix(m: Matrix, v: Vector) -> Vector:
    """Return the product m v."""
    return (
        m[0][0] * v[0] + m[0][1] * v[1] + m[0][2] * v[2],
        m[1][0] * v[0] + m[1][1] * v[1] + m[1][2] * v[2],
        m[2][0] * v[0] + m[2][1] * v[1] + m[2][2] * v[2],
    )


def lerp(a: Vector, b: Vector, ratio: float) -> Vector:
    """Interpolate between two vectors: a at ratio 0, b at ratio 1."""
    rest = 1.0 - ratio
    return (
        rest * a[0] + ratio * b[0],
        rest * a[1] + ratio * b[1],
        rest * a[2] + ratio * b[2],
    )


def slerp(a: Quaternion, b: Quaternion, ratio: float) -> Quaternion:
    """Interpolate at constant angular velocity along the shorter arc: a at 0, b at 1."""
    dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3]
    lengths = math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))
    angle = math.acos(max(-1.0, min(1.0, abs(dot) / lengths)))
    if angle == 0.0:
        return a
    scale = 1.0 / math.sin(angle)
    weight_a = math.sin((1.0 - ratio) * angle)
    weight_b = math.sin(ratio * angle)
    if dot < 0.0:
        weight_b = -weight_b
    return (
        (a[0] * weight_a + b[0] * weight_b) * scale,
        (a[1] * weight_a + b[1] * weight_b) * scale,
        (a[2] * weight_a + b[2] * weight_b) * scale,
        (a[3] * weight_a + b[3] * weight_b) * scale,
    )
