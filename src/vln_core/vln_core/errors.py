# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Every error the library raises on purpose.

The message of each says what was wrong, where, and what to do; nodes forward it to people as is.
"""


class VlnError(Exception):
    """Root of all errors of this library."""


class ConfigError(VlnError):
    """A setting is missing, out of range or contradicts another one."""


class GeometryError(VlnError):
    """A camera, transform or grid is unusable: not finite, not rigid, or of the wrong size."""


class ImageSizeError(GeometryError):
    """An image does not have the size that its camera was calibrated for."""


class PerceptionError(VlnError):
    """A view or panorama cannot be made, or a detector cannot run."""


class MemoryStoreError(VlnError):
    """A memory store cannot be opened, or an update of it was refused."""


class UpdateRefused(MemoryStoreError):
    """An update would break the memory's rules; the store is unchanged."""


class UnknownReference(MemoryStoreError):
    """A waypoint, place, object, viewpoint or view that does not exist was named."""


class RecordError(VlnError):
    """A decision record is malformed or names something that is not there."""


class PlannerError(VlnError):
    """The planner could not come to a decision."""


class SceneError(VlnError):
    """A scene, its label table or its episodes are missing or broken."""


class EpisodeError(VlnError):
    """An episode file is malformed."""


class Cancelled(VlnError):
    """The operator or the caller withdrew the instruction."""
