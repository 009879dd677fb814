# Copyright 2026 The VLN stack authors
# SPDX-License-Identifier: Apache-2.0
"""The command lines: word for word what upstream's launch and launch_ros build."""

import pytest
import yaml

from vln_launch.errors import LaunchError
from vln_launch.resolve import resolve


def commands(path, folder, **arguments):
    """Return the command lines of a launch file, parameter files in a folder."""
    return [plan.command(folder) for plan in resolve(path, arguments)]


def parameters(command):
    """Return the contents of the parameter files of a command line, in order."""
    files = [command[i + 1] for i, word in enumerate(command) if word == '--params-file']
    return [yaml.safe_load(open(file)) for file in files]


def test_a_bare_node(package, write, tmp_path):
    path = write('<node pkg="demo" exec="talker"/>')
    assert commands(path, tmp_path) == [[f'{package}/lib/demo/talker', '--ros-args']]


def test_everything_about_a_node_in_order(package, write, tmp_path):
    (tmp_path / 'extra.yaml').write_text('/**: {ros__parameters: {a: 1}}')
    path = write(
        """
        <set_remap from="global" to="everywhere"/>
        <set_parameter name="use_sim_time" value="true"/>
        <node pkg="demo" exec="talker" name="voice" namespace="robot" args="--fast 'two words'"
              ros_args="--log-level debug" launch-prefix="nice -n 5">
          <remap from="chatter" to="talk"/>
          <param name="rate" value="2.5"/>
          <param from="$(dirname)/extra.yaml"/>
          <remap from="a" to="b"/>
        </node>
        """
    )
    (command,) = commands(path, tmp_path)
    first, second = (command[i + 1] for i, w in enumerate(command) if w == '--params-file')
    assert command == [
        *('nice', '-n', '5', f'{package}/lib/demo/talker', '--fast', 'two words'),
        *('--ros-args', '--log-level', 'debug'),
        *('--ros-args', '-r', '__node:=voice', '-r', '__ns:=/robot'),
        *('-p', 'use_sim_time:=True', '--params-file', first, '--params-file', second),
        *('-r', 'global:=everywhere', '-r', 'chatter:=talk', '-r', 'a:=b'),
    ]
    assert second == str(tmp_path / 'extra.yaml')
    assert parameters(command)[0] == {'/robot/voice': {'ros__parameters': {'rate': 2.5}}}


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('1', 1),
        ('1.0', 1.0),
        ('true', True),
        ('off', False),
        ('hello', 'hello'),
        ("'1'", '1'),
        ('1e-3', '1e-3'),
        ('[1, 2]', [1, 2]),
        ('[1.0, 2.0]', [1.0, 2.0]),
        ('[a, b]', ['a', 'b']),
        ('$(var number)', 7),
        ("'$(var number)'", 7),
        ('$(var number).5', 7.5),
        ('[$(var number), 8]', [7, 8]),
        ('$(var text)', 'some text'),
        ('/$(var text)/x', '/some text/x'),
    ],
)
def test_types_of_parameters(package, write, tmp_path, text, value):
    path = write(
        f"""
        <let name="number" value="7"/>
        <let name="text" value="some text"/>
        <node pkg="demo" exec="talker"><param name="p" value="{text}"/></node>
        """
    )
    (command,) = commands(path, tmp_path)
    (content,) = parameters(command)
    assert content == {'/**': {'ros__parameters': {'p': value}}}
    assert type(content['/**']['ros__parameters']['p']) is type(value)


@pytest.mark.parametrize(
    ('attributes', 'value'),
    [
        ('value="1" type="str"', '1'),
        ('value="" type="str"', ''),
        ('value=""', ''),
        ('value="1e3" type="float"', 1000.0),
        ('value="1" type="bool"', True),
        ('value="off" type="bool"', False),
        ('value="2, 5" value-sep=", "', [2, 5]),
        ('value="[$(env A), x]" type="list_of_str"', ['1', 'x']),
        ('value="[$(env A), $(env A)]" type="list_of_float"', [1.0, 1.0]),
        ('value="[$(env B), x]"', ['', 'x']),
        ('value="2;on" value-sep=";" type="list_of_str"', ['2', 'on']),
        ('value="3" type="float"', 3.0),
        ('value="[1, 2]" type="list_of_int"', [1, 2]),
    ],
)
def test_explicit_types(package, write, tmp_path, attributes, value):
    environment = '<set_env name="A" value="1"/><set_env name="B" value=""/>'
    node = f'<node pkg="demo" exec="talker"><param name="p" {attributes}/></node>'
    path = write(environment + node)
    (command,) = commands(path, tmp_path)
    assert parameters(command) == [{'/**': {'ros__parameters': {'p': value}}}]


def test_nested_parameters_are_joined_by_dots(package, write, tmp_path):
    path = write(
        """
        <node pkg="demo" exec="talker">
          <param name="a"><param name="b" value="1"/><param name="c"><param name="d" value="x"/>
          </param></param>
          <param name="e" value="2"/>
        </node>
        """
    )
    (command,) = commands(path, tmp_path)
    assert parameters(command) == [
        {'/**': {'ros__parameters': {'a.b': 1, 'a.c.d': 'x'}}},
        {'/**': {'ros__parameters': {'e': 2}}},
    ]


def test_substitutions_in_a_parameter_file(package, write, tmp_path):
    (tmp_path / 'p.yaml').write_text('/**:\n  ros__parameters:\n    who: $(var who)\n')
    path = write(
        """
        <arg name="who"/>
        <node pkg="demo" exec="talker"><param from="$(dirname)/p.yaml" allow_substs="true"/></node>
        """
    )
    (command,) = commands(path, tmp_path, who='ada')
    assert parameters(command) == [{'/**': {'ros__parameters': {'who': 'ada'}}}]


@pytest.mark.parametrize(
    ('pushed', 'own', 'expected'),
    [
        (None, 'a', '/a'),
        (None, '/a/', '/a'),
        (None, '', '/'),
        ('a', None, '/a'),
        ('a', 'b', '/a/b'),
        ('a', '/b', '/b'),
        ('', None, '/'),
        ('/', 'b', '/b'),
    ],
)
def test_namespaces(package, write, tmp_path, pushed, own, expected):
    push = '' if pushed is None else f'<push_ros_namespace namespace="{pushed}"/>'
    attribute = '' if own is None else f'namespace="{own}"'
    path = write(f'{push}<node pkg="demo" exec="talker" {attribute}/>')
    (command,) = commands(path, tmp_path)
    assert command[-2:] == ['-r', f'__ns:={expected}']


def test_groups_limit_what_is_set_inside(package, write, tmp_path):
    path = write(
        """
        <let name="v" value="out"/>
        <group>
          <push-ros-namespace namespace="in"/>
          <let name="v" value="in"/>
          <set_env name="V" value="in"/>
          <set_remap from="a" to="b"/>
          <node pkg="demo" exec="talker" args="$(var v) $(optenv V)"/>
        </group>
        <node pkg="demo" exec="talker" args="$(var v) [$(optenv V)]"/>
        <group scoped="0"><let name="v" value="leaks"/></group>
        <executable cmd="echo $(var v)"/>
        """
    )
    inside, outside, leaked = commands(path, tmp_path)
    assert inside[1:] == ['in', 'in', '--ros-args', '-r', '__ns:=/in', '-r', 'a:=b']
    assert outside[1:] == ['out', '[]', '--ros-args']
    assert leaked == ['echo', 'leaks']


def test_a_group_that_forwards_nothing_keeps_what_it_names(package, write):
    path = write(
        """
        <let name="foo" value="FOO"/>
        <let name="bar" value="BAR"/>
        <set_env name="V" value="set"/>
        <push_ros_namespace namespace="robot"/>
        <group scoped="True" forwarding="False">
          <keep name="bar" value="$(var bar)"/>
          <keep name="baz" value="BAZ"/>
          <node pkg="demo" exec="talker" args="$(var foo none) $(var bar) $(var baz)"/>
        </group>
        <executable cmd="x $(var foo) $(var bar) $(var baz gone)"/>
        """
    )
    inside, outside = resolve(path, {}, {'V': 'first'})
    assert inside.arguments[1:] == ['none', 'BAR', 'BAZ', '--ros-args']
    assert inside.environment == {'V': 'first'}
    assert outside.arguments == ['x', 'FOO', 'BAR', 'gone']
    assert outside.environment == {'V': 'set'}


def test_conditions(write, tmp_path):
    path = write(
        """
        <arg name="on" default="true"/>
        <executable cmd="a" if="$(var on)"/>
        <executable cmd="b" unless="$(var on)"/>
        <group if="0"><executable cmd="c"/></group>
        """
    )
    assert commands(path, tmp_path) == [['a']]
    assert commands(path, tmp_path, on='False') == [['b']]


def test_includes_share_configurations_and_have_their_own_directory(write, tmp_path):
    (tmp_path / 'sub').mkdir()
    write(
        """
        <arg name="a"/>
        <arg name="b" default="own"/>
        <executable cmd="inner $(var a) $(var b) $(dirname)"/>
        """,
        'sub/inner.launch.xml',
    )
    path = write(
        """
        <arg name="b" default="outer"/>
        <include file="$(dirname)/x/../sub/inner.launch.xml">
          <arg name="a" value="given $(dirname)"/>
        </include>
        <executable cmd="outer $(dirname)"/>
        """
    )
    (tmp_path / 'x').mkdir()
    sub = tmp_path / 'sub'
    assert commands(path, tmp_path) == [
        # As upstream: $(dirname) of a given argument is that of the included file.
        ['inner', f'given {sub}', 'outer', str(sub)],
        ['outer', str(tmp_path)],
    ]


def test_environment_of_processes(write):
    path = write(
        """
        <set_env name="A" value="1"/>
        <set_env name="B" value="2"/>
        <unset_env name="B"/>
        <executable cmd="x"><env name="C" value="$(env A)3"/></executable>
        <executable cmd="y"/>
        """
    )
    first, second = resolve(path, {}, {'B': '0', 'D': '4'})
    assert first.environment == {'A': '1', 'C': '13', 'D': '4'}
    assert second.environment == {'A': '1', 'D': '4'}


def test_policies_and_labels(package, write):
    path = write(
        """
        <node pkg="demo" exec="talker" respawn="true" respawn_delay="1.5" respawn_max_retries="2"
              output="screen" on_exit="shutdown" cwd="/tmp"/>
        <node pkg="demo" exec="talker" exec_name="voice"/>
        <executable cmd="/bin/echo a" name="loud"/>
        <executable cmd="/bin/echo b" shell="true"/>
        """
    )
    plans = resolve(path, {})
    assert [plan.label for plan in plans] == ['talker-1', 'voice-2', 'loud-3', 'echo-4']
    first = plans[0]
    assert (first.respawn, first.respawn_delay, first.respawn_max_retries) == (True, 1.5, 2)
    assert (first.output, first.shutdown_on_exit, first.cwd) == ('screen', True, '/tmp')
    assert (plans[1].output, plans[1].respawn) == ('log', False)
    assert plans[3].shell


def test_command_lines_are_split_at_text_only(write, tmp_path):
    path = write(
        """
        <let name="v" value="a b"/>
        <executable cmd="run $(var v) x$(var v)y 'p q' $(var v)"/>
        """
    )
    assert commands(path, tmp_path) == [['run', 'a b', 'xa by', 'p q', 'a b']]


def test_equal_node_names_are_warned_of(package, write, caplog):
    node = '<node pkg="demo" exec="talker" name="n" namespace="a"/>'
    resolve(write(node + node), {})
    assert 'several nodes with the name /a/n' in caplog.text


def test_required_arguments_of_includes(write, tmp_path):
    write('<arg name="needed"/>', 'inner.launch.xml')
    path = write('<include file="$(dirname)/inner.launch.xml"/>')
    with pytest.raises(LaunchError, match="'needed' is required and was not given"):
        resolve(path, {})
    assert commands(path, tmp_path, needed='1') == []
