# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Text with functions in it."""

from pathlib import Path

import pytest

from vln_launch.context import Context
from vln_launch.errors import SubstitutionError
from vln_launch.substitutions import describe, parse, perform


@pytest.fixture
def context():
    result = Context(
        Path('/launch/main.launch.xml'), {'HOME': '/home/ada', 'PATH': '/usr/bin:/bin'}
    )
    result.configurations.update(name='x y', yes='true', no='false', three='3')
    return result


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('plain', 'plain'),
        ('', ''),
        ('it\'s "quoted"', 'it\'s "quoted"'),
        (r'a \$(var b) \\ \'', r"a $(var b) \ '"),
        ('<$(var name)>', '<x y>'),
        ('$(var missing fallback)', 'fallback'),
        ("$(var missing 'a b')", 'a b'),
        ("$(var missing '')", ''),
        ('$(var missing "<$(var name)>")', '<x y>'),
        ('$(var $(var missing name))', 'x y'),
        ('5$ $0 a$b', '5$ $0 a$b'),
        ("$(var missing '$0 $1')", '$0 $1'),
        (r'$(var missing \$\(a\))', '$(a)'),
        (r'$(env NOT_SET/\$\(a asd\\\)) 10)', r'asd\) 10)'),
        # In quotes the arguments of a substitution have no quotes of their own.
        ("""$(var missing "<$(var gone 'a')>")""", "<'a'>"),
        (r'$(var missing "$(var gone \"a\")$(var name)")', '"a"x y'),
        ('$(env HOME)/x', '/home/ada/x'),
        ('$(env NOT_SET none)', 'none'),
        ('[$(optenv NOT_SET)]', '[]'),
        ('$(dirname)/a', '/launch/a'),
        ('$(filename)', '/launch/main.launch.xml'),
        ('$(find-exec sh)', '/usr/bin/sh'),
        ('$(not $(var yes))', 'false'),
        ('$(not 1)', 'false'),
        ('$(and on 1)', 'true'),
        ('$(or 0 off)', 'false'),
        ('$(and $(var yes) $(not $(var no)))', 'true'),
        ('$(or $(var no) false)', 'false'),
        ('$(any false false $(var yes))', 'true'),
        ('$(any)', 'false'),
        ('$(all true $(var no))', 'false'),
        ('$(all)', 'true'),
        ('$(equals $(var three) 3.0)', 'true'),
        ('$(equals True 1)', 'true'),
        ("$(equals $(var name) 'x y')", 'true'),
        ('$(equals a b)', 'false'),
        ('$(not-equals a b)', 'true'),
    ],
)
def test_values(context, text, expected):
    result = perform(parse(text), context)
    if expected == '/usr/bin/sh':
        assert result in ('/usr/bin/sh', '/bin/sh')
    else:
        assert result == expected


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('$(var missing)', "launch configuration 'missing' does not exist; known: name"),
        ('$(env NOT_SET)', "environment variable 'NOT_SET' does not exist"),
        ('$(not 2)', "'2' is not a truth value"),
        ('$(not {)', "'{' is not a truth value"),
        ('$(find-exec no_such_program)', 'not found on the PATH'),
        ('$(find-pkg-share no_such_package)', "package 'no_such_package' not found"),
        ('$(eval 1 + 1)', 'is not supported here; use not, and'),
        ('$(command ls)', 'is not supported here'),
        ('$(vra name)', "unknown function '$(vra ...)'; known: all, and"),
        ('$(and true)', 'takes 2 arguments, not 1'),
        ('$(var)', 'takes 1 to 2 arguments, not 0'),
        ('$(var name', "'$(' is not closed"),
        ("$(var 'name)", 'is not closed'),
        ('$()', 'no function name'),
        ("$(var 'a'b)", "unexpected 'b' after '$(var ...'"),
        ("$(var a'b')", "unexpected ''' after '$(var ...'"),
        ('$(var a(b))', "unexpected '('"),
        ('$(var name )', 'a space too much'),
        ('$(var  name)', 'a space too much'),
    ],
)
def test_errors(context, text, problem):
    with pytest.raises(SubstitutionError) as caught:
        perform(parse(text), context)
    assert problem in str(caught.value)


def test_description_is_that_of_show_args():
    assert describe(parse('a$(var b)')) == "'a' + LaunchConfig('b')"
    assert describe(parse('$(env HOME)/x')) == "EnvVar('HOME') + '/x'"
    assert describe(parse('$(find-pkg-share demo)')) == "FindPackageShare(pkg='demo')"
    assert describe(parse('')) == "''"


def test_find_package(package, context):
    assert perform(parse('$(find-pkg-prefix demo)'), context) == str(package)
    assert perform(parse('$(find-pkg-share demo)/a'), context) == f'{package}/share/demo/a'
    talker = perform(parse('$(exec-in-package talker demo)'), context)
    assert talker == f'{package}/lib/demo/talker'
