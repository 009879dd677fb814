# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""Mistakes: each is one line with file, line, tag and what to do, before anything starts."""

import re

import pytest

from vln_launch.command_line import main, parse_arguments
from vln_launch.errors import LaunchError
from vln_launch.resolve import resolve


@pytest.mark.parametrize(
    ('body', 'line', 'text'),
    [
        ('<nod exec="x"/>', 2, '<nod>: unknown tag; known here: arg, executable'),
        ('<timer period="1"/>', 2, '<timer>: unknown tag'),
        ('<node exec="x" executable="y"/>', 2, "<node>: unknown attribute 'executable'; known:"),
        ('<node pkg="demo"/>', 2, "<node>: attribute 'exec' is missing"),
        ('<node exec="x"><parm name="a"/></node>', 2, '<parm>: not allowed inside <node>'),
        ('<let name="a"/>', 2, "<let>: attribute 'value' is missing"),
        ('<executable cmd="a" if="1" unless="1"/>', 2, "'if' and 'unless' exclude each other"),
        ('<executable cmd="a" if="maybe"/>', 2, "if='maybe' is not a condition"),
        ('<executable cmd=""/>', 2, "'cmd' is empty"),
        ('<executable cmd="a">text</executable>', 2, "unexpected text 'text'"),
        ('<executable cmd="$(var x)"/>', 2, "launch configuration 'x' does not exist"),
        ('<executable cmd="$(eval 1)"/>', 2, '$(eval ...) is not supported here'),
        ('<executable cmd="a" output="loud"/>', 2, "output='loud' is unknown; known: screen"),
        ('<executable cmd="a" on_exit="cry"/>', 2, "on_exit='cry' is unknown"),
        ('<executable cmd="a" respawn="2"/>', 2, "'respawn': '2' is not a truth"),
        ('<executable cmd="a" respawn_delay="-1"/>', 2, "respawn_delay='-1' is not a number"),
        ('\n\n<include file="/no/such.launch.xml"/>', 4, "'/no/such.launch.xml' does not exist"),
        ('<include file="/etc/hostname"/>', 2, 'is not XML; only *.launch.xml'),
        ('<node pkg="ghost" exec="x"/>', 2, "package 'ghost' not found, searching:"),
        ('<node pkg="demo" exec="x"/>', 2, "executable 'x' not found on the libexec directory"),
        ('<node exec="x" name="a-b"/>', 2, "invalid node name 'a-b'"),
        ('<node exec="x" namespace="1a"/>', 2, "invalid namespace '/1a'"),
        ('<push_ros_namespace namespace="a//b"/>', 2, "invalid namespace '/a//b'"),
        ('<node exec="x"><param name="p"/></node>', 2, "either 'value' or nested <param>"),
        ('<node exec="x"><param name="p" value="{}"/></node>', 2, 'which no parameter can have'),
        ('<node exec="x"><param name="p" value="~"/></node>', 2, 'add type="str"'),
        ('<node exec="x"><param name="p" value="" type="int"/></node>', 2, "not of type 'int'"),
        ('<node exec="x"><param name="p" value="1;a" value-sep=";"/></node>', 2, 'of one type'),
        ('<node exec="x"><param name="p" value="0x10" type="int"/></node>', 2, "of type 'int'"),
        ('<node exec="x"><param name="p" value="[1, a]"/></node>', 2, 'are not of one type'),
        ('<node exec="x"><param name="p" value="a" type="int"/></node>', 2, "not of type 'int'"),
        ('<node exec="x"><param from="/no.yaml"/></node>', 2, "'/no.yaml' does not exist"),
        ('<arg name="a"/>', 2, "'a' is required and was not given; add a:=VALUE"),
        ('<group forwarding="maybe"/>', 2, "'forwarding': 'maybe' is not a truth value"),
        ('<group><keep name="a"/></group>', 2, "<keep>: attribute 'value' is missing"),
        ('<keep name="a" value="b"/>', 2, '<keep>: unknown tag'),
        ('<group scoped="maybe"/>', 2, "'scoped': 'maybe' is not a truth value"),
        ('<group if="false"><nonsense/></group>', 2, '<nonsense>: unknown tag'),
        ('<executable cmd="$(oops)" if="false"/>', 2, "unknown function '$(oops ...)'"),
    ],
)
def test_one_line_that_says_where_and_what(package, write, body, line, text):
    path = write(body)
    with pytest.raises(LaunchError) as caught:
        resolve(path, {})
    shown = str(caught.value)
    assert '\n' not in shown
    assert re.match(rf'{re.escape(str(path))}:{line}: <', shown)
    assert text in shown


def test_choices(write):
    path = write('<arg name="mode" default="a"><choice value="a"/><choice value="b"/></arg>')
    assert resolve(path, {'mode': 'b'}) == []
    with pytest.raises(LaunchError, match="'mode' has the value 'c'; choose one of: a, b"):
        resolve(path, {'mode': 'c'})


def test_unknown_arguments(write):
    write('<arg name="deep" default="1"/>', 'inner.launch.xml')
    path = write('<arg name="a" default="1"/><include file="$(dirname)/inner.launch.xml"/>')
    assert resolve(path, {'deep': '2'}) == []
    with pytest.raises(LaunchError, match="argument 'b' does not exist; known: a, deep"):
        resolve(path, {'b': '1'})
    wrong = write(
        '<include file="$(dirname)/inner.launch.xml"><arg name="deeep" value="1"/></include>',
        'wrong.launch.xml',
    )
    with pytest.raises(LaunchError, match="has no argument 'deeep'; known: deep"):
        resolve(wrong, {})


def test_files_that_are_no_launch_files(tmp_path, write):
    with pytest.raises(LaunchError, match='No such file'):
        resolve(tmp_path / 'ghost.launch.xml', {})
    broken = tmp_path / 'broken.launch.xml'
    broken.write_text('<launch>\n<node>\n</launch>')
    with pytest.raises(LaunchError, match='broken.launch.xml:3: not well-formed XML'):
        resolve(broken, {})
    broken.write_text('<robot/>')
    with pytest.raises(LaunchError, match='outermost tag must be <launch>'):
        resolve(broken, {})
    loop = write('<include file="$(filename)"/>', 'loop.launch.xml')
    with pytest.raises(LaunchError, match='include each other without end'):
        resolve(loop, {})


@pytest.mark.parametrize('word', ['a', 'a=1', ':=1', 'a:='])
def test_malformed_arguments(word):
    with pytest.raises(LaunchError, match="malformed launch argument '"):
        parse_arguments([word])


def test_arguments_of_the_command_line():
    assert parse_arguments(['a:=1', 'b:=x:=y', 'a:=2']) == {'a': '2', 'b': 'x:=y'}


def test_show_args(write, capsys):
    path = write(
        """
        <arg name="plain"/>
        <arg name="said" default="a$(var plain)" description="What it is"/>
        <arg name="chosen" default="x"><choice value="x"/><choice value="y"/></arg>
        <arg name="maybe" default="" if="true"/>
        """
    )
    assert main([str(path), '--show-args']) == 0
    assert capsys.readouterr().out == (
        "Arguments (pass arguments as '<name>:=<value>'):\n"
        "\n    'plain':\n        no description given\n"
        "\n    'said':\n        What it is\n        (default: 'a' + LaunchConfig('plain'))\n"
        "\n    'chosen':\n        One of: ['x', 'y']\n        (default: 'x')\n"
        "\n    'maybe':*\n        no description given\n        (default: '')\n"
        '\n* argument(s) which are only used if specific conditions occur\n'
    )
    assert main([str(write('', 'empty.launch.xml')), '-s']) == 0
    assert capsys.readouterr().out.endswith('\n  No arguments.\n')


def test_print_commands_starts_nothing(write, capsys, tmp_path):
    path = write(f'<executable cmd="touch {tmp_path}/started"/>')
    assert main([str(path), '--print-commands']) == 0
    assert capsys.readouterr().out == f'touch {tmp_path}/started\n'
    assert not (tmp_path / 'started').exists()


def test_a_mistake_is_one_line_on_standard_error(write, capsys):
    assert main([str(write('<nod/>'))]) == 1
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.startswith('error: ')
    assert captured.err.count('\n') == 1
