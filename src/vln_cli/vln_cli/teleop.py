# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""`./vln teleop`: drive by keyboard, through the safety process."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

_PERIOD = 0.05

_KEYS = """   u  i  o      forward, with a turn left or right
   j  k  l      turn on the spot; k (or space) stops
   m  ,  .      backward, with a turn
   q / z        all speeds up / down       w / x  forward speed     e / c  turning speed
   Esc, Ctrl-C  stop and leave
Hold a key: when it is released the robot stops."""
_MOVES = {
    'u': (1.0, 1.0),
    'i': (1.0, 0.0),
    'o': (1.0, -1.0),
    'j': (0.0, 1.0),
    'l': (0.0, -1.0),
    'm': (-1.0, -1.0),
    ',': (-1.0, 0.0),
    '.': (-1.0, 1.0),
}
_STOPS = ('k', ' ')
_LEAVES = ('\x03', '\x04', '\x1b')
_SCALES = {
    'q': (1.1, 1.1),
    'z': (0.9, 0.9),
    'w': (1.1, 1.0),
    'x': (0.9, 1.0),
    'e': (1.0, 1.1),
    'c': (1.0, 0.9),
}


@dataclass(frozen=True)
class TeleopConfig:
    """Limits of the keyboard teleoperation.

    Attributes:
        max_linear: Upper limit of the forward speed, m/s.
        max_angular: Upper limit of the turning speed, rad/s.
        release_timeout: A key that has not repeated for so long counts as released, s.
        first_release_timeout: The same for the first press: keyboards wait before they repeat.
    """

    max_linear: float = 0.5
    max_angular: float = 1.0
    release_timeout: float = 0.2
    first_release_timeout: float = 0.6

    def __post_init__(self) -> None:
        """Refuse limits that are not positive numbers."""
        for name, value in vars(self).items():
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f'{name} must be a positive number, not {value}')


@dataclass
class Keyboard:
    """Turns key presses into a velocity: the keys' repetition is the dead-man's switch."""

    config: TeleopConfig
    linear: float = field(init=False)
    angular: float = field(init=False)
    _move: tuple[float, float] = (0.0, 0.0)
    _key: str = ''
    _expires: float = 0.0

    def __post_init__(self) -> None:
        """Start at half of the limits."""
        self.linear = 0.5 * self.config.max_linear
        self.angular = 0.5 * self.config.max_angular

    def press(self, key: str, now: float) -> bool:
        """Take a key.

        Args:
            key: The character.
            now: Time of the press on a steady clock, s.

        Returns:
            False if the key means to leave.
        """
        if key in _LEAVES:
            self._move = (0.0, 0.0)
            return False
        if key in _MOVES:
            is_repeated = key == self._key and now < self._expires
            patience = (
                self.config.release_timeout if is_repeated else self.config.first_release_timeout
            )
            # The first repetition may come early in the longer patience: keep the later end.
            self._expires = now + patience
            self._move, self._key = _MOVES[key], key
        elif key in _SCALES:
            linear, angular = _SCALES[key]
            self.linear = min(self.linear * linear, self.config.max_linear)
            self.angular = min(self.angular * angular, self.config.max_angular)
        else:
            # Any other key stops, so that a slip of the finger does no harm.
            self._move, self._key, self._expires = (0.0, 0.0), '', 0.0
        return True

    def velocity(self, now: float) -> tuple[float, float]:
        """Return forward (m/s) and turning speed (rad/s) at a time; zero once released."""
        if now >= self._expires:
            self._move, self._key = (0.0, 0.0), ''
        return self._move[0] * self.linear, self._move[1] * self.angular


@contextlib.contextmanager
def _raw_terminal() -> Iterator[None]:
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin.fileno())
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def main(argv: Sequence[str]) -> int:
    """Drive until Esc or Ctrl-C; 0, or 1 without a terminal or a stack."""
    defaults = TeleopConfig()
    parser = argparse.ArgumentParser(
        prog='./vln teleop',
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description='Drive by keyboard. The commands go to the safety process, which lets them '
        'pass before\nthe controller, but never against an obstacle or an emergency stop.\n\n'
        + _KEYS,
    )
    parser.add_argument('--namespace', default='', help='namespace of the stack')
    parser.add_argument(
        '--max-linear', type=float, default=defaults.max_linear, help='m/s (default %(default)s)'
    )
    parser.add_argument(
        '--max-angular',
        type=float,
        default=defaults.max_angular,
        help='rad/s (default %(default)s)',
    )
    options = parser.parse_args(argv)
    try:
        config = TeleopConfig(options.max_linear, options.max_angular)
    except ValueError as error:
        print(f'vln: {error}', file=sys.stderr)
        return 2
    if not sys.stdin.isatty():
        print('vln: teleop needs a terminal', file=sys.stderr)
        return 1
    return _drive(config, options.namespace)


def _drive(config: TeleopConfig, namespace: str) -> int:
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from vln_interfaces.msg import VelocityCommand

    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('vln_teleop', namespace=namespace or None)
    publisher = node.create_publisher(VelocityCommand, 'teleop/velocity_command', 1)

    def send(linear: float, angular: float) -> None:
        message = VelocityCommand()
        message.header.stamp = node.get_clock().now().to_msg()
        message.header.frame_id = 'base_link'
        message.twist.linear.x = linear
        message.twist.angular.z = angular
        publisher.publish(message)

    try:
        if not _wait_for_safety(publisher.get_subscription_count):
            print(
                f'vln: nobody listens on {publisher.topic_name} within 10 s; start a stack first, '
                'with the same ROS_DOMAIN_ID',
                file=sys.stderr,
            )
            return 1
        print(_KEYS)
        with _raw_terminal():
            _loop(Keyboard(config), send)
        print()
        return 0
    finally:
        for _ in range(3):
            send(0.0, 0.0)
            time.sleep(_PERIOD)
        node.destroy_node()
        rclpy.try_shutdown()


def _wait_for_safety(count: Callable[[], int], timeout: float = 10.0) -> bool:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if count() > 0:
            return True
        time.sleep(0.1)
    return False


def _loop(keyboard: Keyboard, send: Callable[[float, float], None]) -> None:
    was_moving = False
    while True:
        ready, _, _ = select.select([sys.stdin], [], [], _PERIOD)
        now = time.monotonic()
        if ready:
            data = os.read(sys.stdin.fileno(), 64)
            if not data:
                return  # the terminal was closed
            # What a key has repeated while we slept counts once; an arrow key begins with Esc.
            for key in dict.fromkeys(data.decode(errors='ignore')):
                if not keyboard.press(key, now):
                    return
        linear, angular = keyboard.velocity(now)
        is_moving = (linear, angular) != (0.0, 0.0)
        # Standing still is silence, after one zero: so the controller may drive again.
        if is_moving or was_moving:
            send(linear, angular)
        was_moving = is_moving
        print(
            f'\r  now {linear:+.2f} m/s {angular:+.2f} rad/s   (keys give {keyboard.linear:.2f} '
            f'm/s, {keyboard.angular:.2f} rad/s)  ',
            end='',
            flush=True,
        )
