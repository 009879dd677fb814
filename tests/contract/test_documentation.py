# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Links and file names of the documentation lead somewhere, on every machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vln_core.outcome import EpisodeCode, GroundingCode, MotionCode

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob('*.md')), *sorted((ROOT / 'docs').glob('*.md'))]
LINK = re.compile(r'\]\(([^)\s]+)\)')
HEADING = re.compile(r'^#+ +(.+)$', re.MULTILINE)
# A file of this project named in the text, with at least one folder.
FILE = re.compile(
    r'`([\w.-]+(?:/[\w.-]+)+\.(?:py|yaml|xml|rviz|json|txt|toml|md|msg|srv|action))`'
)
# Where a short name in the text may begin.
STARTS = ('.', 'src', 'src/vln_core', 'src/vln_core/vln_core', 'src/vln_nodes', 'src/vln_cli',
          'src/vln_monitor', 'sim_bridge')  # fmt: skip
MACHINE = re.compile(
    r'(?<![\w.~$}])/(?:home|root|work|tmp|Users|mnt|workspaces?)/[\w.]+|\b[A-Z]:\\'
)


def _anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')


def broken_links(text: str, folder: Path) -> list[str]:
    """Return the relative links of a page in ``folder`` that lead nowhere."""
    broken = []
    for target in LINK.findall(text):
        if re.match(r'[a-z]+:', target):
            continue
        name, _, anchor = target.partition('#')
        file = folder / name
        if name and not file.exists():
            broken.append(target)
        elif anchor:
            page = file.read_text(encoding='utf-8') if name else text
            if anchor not in {_anchor(heading) for heading in HEADING.findall(page)}:
                broken.append(target)
    return broken


def missing_files(text: str) -> list[str]:
    """Return the files named in a text that the project does not have."""
    return [
        name
        for name in FILE.findall(text)
        if not any((ROOT / start / name).exists() for start in STARTS)
    ]


def test_pages_are_found():
    assert {'README.md', 'CONTRIBUTING.md', 'safety.md', 'robot.md'} <= {p.name for p in PAGES}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    assert broken_links(page.read_text(encoding='utf-8'), page.parent) == []


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_named_files_exist(page):
    assert missing_files(page.read_text(encoding='utf-8')) == []


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_no_path_of_one_machine(page):
    assert MACHINE.findall(page.read_text(encoding='utf-8')) == []


def test_readme_links_every_page():
    linked = set(LINK.findall((ROOT / 'README.md').read_text(encoding='utf-8')))
    pages = {str(page.relative_to(ROOT)) for page in PAGES if page.name != 'README.md'}
    assert pages - linked == set()


@pytest.mark.parametrize('codes', [EpisodeCode, MotionCode, GroundingCode])
def test_every_code_of_a_result_is_explained(codes):
    page = (ROOT / 'docs' / 'troubleshooting.md').read_text(encoding='utf-8')
    rows = [f'| {int(code)} | `{code.name}` |' for code in codes]
    assert [row for row in rows if row not in page] == []


def test_checks_see_what_is_wrong():
    text = '# A b\n[x](gone.md) [y](#a-b) [z](#gone) [w](https://example.com/a)'
    assert broken_links(text, ROOT) == ['gone.md', '#gone']
    assert missing_files('`vln_core/gone.py` and `vln_core/navigator.py`') == ['vln_core/gone.py']
    somebody = '/'.join(['', 'home', 'someone'])  # in parts, or the check would find itself
    assert MACHINE.findall(f'in {somebody}/ws, not ~/.cache/vln nor $HOME/tmp/x') == [somebody]
