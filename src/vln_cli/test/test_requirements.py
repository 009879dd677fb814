# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The requirement files are read alike by pip and by the doctor."""

import re

import pytest

from vln_cli.paths import REQUIREMENTS
from vln_cli.requirements import parse_requirements, read_requirements


@pytest.mark.parametrize(
    ('specifier', 'version', 'allowed'),
    [
        ('>=1.26,<3', '1.26.4', True),
        ('>=1.26,<3', '2.4.6', True),
        ('>=1.26,<3', '3.0', False),
        ('>=1.26,<3', '1.9', False),
        ('==0.17.6', '0.17.6', True),
        ('==0.17.6', '0.17.60', False),
        ('==1', '1.0.0', True),
        ('', '7', True),
        ('>=2024.5,<2026', '2025.6.23', True),
    ],
)
def test_specifiers(specifier, version, allowed):
    [requirement] = parse_requirements('name' + specifier)
    assert requirement.allows(version) is allowed


def test_conditions_hashes_and_comments():
    text = (
        '# about\na-b.C>=1  # why\nx==1 \\\n    --hash=sha256:00\n'
        'y; platform_machine == "x86_64"\nz; platform_machine != "x86_64"\n'
    )
    found = {one.key: one.text for one in parse_requirements(text)}
    assert found['a-b-c'] == 'a-b.C>=1'
    assert found['x'] == 'x==1'
    assert len(found.keys() & {'y', 'z'}) == 1


@pytest.mark.parametrize('line', ['a @ http://x', 'b; python_version < "3"', 'c~=1'])
def test_what_is_not_understood_is_an_error(line):
    with pytest.raises(ValueError, match='cannot read'):
        [one.allows('1') for one in parse_requirements(line)]


def test_every_package_is_named_once():
    names = []
    for file in REQUIREMENTS.glob('*.txt'):
        if file.name != 'ros_distribution.txt':
            names += [(one.key, file.name) for one in parse_requirements(file.read_text())]
    keys = [key for key, file in names if (key, file) != ('numpy', 'ros_wheels.txt')]
    assert sorted(keys) == sorted(set(keys))


def test_weights_are_pinned_by_hash():
    text = (REQUIREMENTS / 'language_models.txt').read_text()
    models = parse_requirements(text)
    assert models
    assert all(re.fullmatch(r'==[\d.]+', one.specifier) for one in models)
    assert text.count('--hash=sha256:') == len(models)


def test_wheels_are_read_only_without_a_distribution():
    assert any(one.key == 'ros-rclpy' for one in read_requirements(wheels=True))
    assert not any(one.key == 'ros-rclpy' for one in read_requirements(wheels=False))
