# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Every number of the memory, with the defaults of SPEC section 3."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from vln_core.errors import ConfigError


@dataclass(frozen=True)
class MemoryConfig:
    """Settings of the memory; lengths in metres, angles in rad.

    Attributes:
        cluster_distance: A waypoint joins every place with an anchor this near (SPEC 3.1).
        association_floor: Smallest distance within which a sighting joins an object.
        association_size: Gate per metre of the object's larger horizontal size.
        association_cap: Largest gate, however big the object.
        doorway_distance: Centre distance within which two doorways are the same one.
        containment_distance: Farthest anchor that can contain an object.
        confidence_gain: Share of doubt removed by a sighting of score 1.
        missed_factor: Confidence factor when an object is in plain view and not detected.
        see_through_factor: Confidence factor when the camera sees through where it was.
        prune_confidence: Objects below this are ghosts and removed.
        absence_range: Farthest distance at which absence is judged.
        alpha: Weight of relevance, eq. (5).
        beta: Weight of recency, eq. (5).
        gamma: Weight of salience, eq. (5).
        rho: Decay of recency per waypoint.
        num_seeds: K_s, places with the best scores.
        max_places: K_p, places in the retrieved slice.
        salient_categories: Object categories at which the richness of a place saturates.
        window: K, completed transitions kept verbatim; -1 keeps all of them (raw full history).
        way_frames: Frames kept from the way of a transition, spread over it.
        use_world_graph: Whether the retrieved slice is part of the context.
        use_episodic: Visit history in text and recency in scores.
        use_semantic: Content and topology in text and relevance in scores.
        use_reflection: Failure notes in text.
        use_progress: Whether the progress record is part of the context's text.
        max_waypoints: Budget of an episode.
        stop_radius: Distance within which the last landmark must be grounded to stop.
        cell_size: Edge of a cell of the space map.
        body_min: Bottom of the body-height band above the floor.
        body_max: Top of the body-height band above the floor.
        min_depth: Nearest usable depth reading.
        max_depth: Farthest usable depth reading; beyond is *far*.
        robot_radius: Radius of the body's disc.
        frontier_min_width: Narrower openings are dropped.
        frontier_min_area: Openings that could show less unknown area, m^2, are dropped.
        frontier_match_distance: An opening this near to a known one keeps its id.
        frontier_done_distance: Boundary this near to a waypoint counts as approached.
        frontier_range: Reach of the estimate of unknown area.
        frontier_tries: Failed approaches after which an opening is dropped.
        seen_open_distance: Farthest pair of anchors joined by a seen-as-open edge.
        recall_bytes: Memory for past views.
        spill_bytes: Disk for past views; 0 without a store on disk.
        max_viewpoints: Visited viewpoints listed in a snapshot, newest first kept.
        lifelong: Whether a new episode keeps the graph of the ones before.
        max_text: Longest text accepted in an update, characters.
        ageing: Confidence factor per new episode in a lifelong store.
    """

    cluster_distance: float = 1.5
    association_floor: float = 0.5
    association_size: float = 0.6
    association_cap: float = 1.5
    doorway_distance: float = 0.8
    containment_distance: float = 4.0
    confidence_gain: float = 0.6
    missed_factor: float = 0.85
    see_through_factor: float = 0.55
    prune_confidence: float = 0.12
    absence_range: float = 4.0
    alpha: float = 1.0
    beta: float = 0.3
    gamma: float = 0.3
    rho: float = 0.85
    num_seeds: int = 3
    max_places: int = 5
    salient_categories: int = 5
    window: int = 1
    way_frames: int = 2
    use_world_graph: bool = True
    use_episodic: bool = True
    use_semantic: bool = True
    use_reflection: bool = True
    use_progress: bool = True
    max_waypoints: int = 40
    stop_radius: float = 1.5
    cell_size: float = 0.1
    body_min: float = 0.1
    body_max: float = 1.2
    min_depth: float = 0.15
    max_depth: float = 10.0
    robot_radius: float = 0.22
    frontier_min_width: float = 0.4
    frontier_min_area: float = 0.5
    frontier_match_distance: float = 0.6
    frontier_done_distance: float = 0.7
    frontier_range: float = 2.5
    frontier_tries: int = 2
    seen_open_distance: float = 4.0
    recall_bytes: int = 16_000_000
    spill_bytes: int = 256_000_000
    max_viewpoints: int = 64
    lifelong: bool = False
    max_text: int = 4000
    ageing: float = 0.9

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool):
                continue
            lowest = -1 if field.name == 'window' else 0
            if not math.isfinite(value) or value < lowest:
                raise ConfigError(
                    f'memory setting {field.name} = {value} must be finite and >= {lowest}'
                )
        for name in ('cluster_distance', 'cell_size', 'max_places', 'num_seeds', 'max_waypoints'):
            if getattr(self, name) <= 0:
                raise ConfigError(f'memory setting {name} = {getattr(self, name)} must be > 0')
        factors = (
            'rho',
            'missed_factor',
            'see_through_factor',
            'prune_confidence',
            'ageing',
            'confidence_gain',
        )
        for name in factors:
            if getattr(self, name) > 1:
                raise ConfigError(f'memory setting {name} = {getattr(self, name)} must be in 0..1')
        for low, high in (
            ('body_min', 'body_max'),
            ('min_depth', 'max_depth'),
            ('num_seeds', 'max_places'),
        ):
            if getattr(self, low) > getattr(self, high):
                raise ConfigError(
                    f'memory setting {low} = {getattr(self, low)} must not exceed '
                    f'{high} = {getattr(self, high)}'
                )
