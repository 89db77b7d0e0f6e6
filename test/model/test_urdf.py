# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""What a robot description may be, and what is said about one that may not."""

import copy
import math
from pathlib import Path
import sys
import time
import xml.etree.ElementTree as ET

from hypothesis import given, HealthCheck, settings, strategies as st
from nightly import each_once, samples
import numpy as np
import pytest
import robots

from ik_node.base.errors import IkNodeError, Reason, StateError, UrdfError
from ik_node.kinematics.links import link_path, link_poses
from ik_node.model.chain import make_chain
from ik_node.model.description.elements import MAX_BYTES, MAX_ELEMENTS
from ik_node.model.description.urdf import JointType, parse_urdf, read_urdf

LIMIT = '<limit lower="-1" upper="2" effort="3" velocity="4"/>'
AXIS = '<axis xyz="0 0 1"/>'
MUTANTS = samples(usual=150, nightly=1500)


def joint(name='j', kind='revolute', parent='a', child='b', inside=AXIS + LIMIT):
    """Return the text of a joint."""
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/>{inside}</joint>')


def robot(*parts, links='ab', name='name="r"'):
    """Return the text of a robot with the named links and the parts."""
    return f'<robot {name}>' + ''.join(f'<link name="{link}"/>' for link in links) \
        + ''.join(parts) + '</robot>'


GOOD = robot(joint())


@pytest.fixture(autouse=True)
def silence(capfd):
    """Nothing is ever printed, by the library or by the parsers below it."""
    yield
    assert capfd.readouterr() == ('', '')


def refused(text, *words):
    """Check that a text is refused by one sentence with these words; return the sentence."""
    with pytest.raises(UrdfError) as caught:
        tree = parse_urdf(text)
        make_chain(tree, tree.root, tree.links[-1])  # an arm of all its joints
    assert caught.value.reason is Reason.MODEL_INVALID
    sentence = str(caught.value)
    for word in words:
        assert word in sentence, sentence
    assert '\n' not in sentence and len(sentence) < 700
    return sentence


def accepted(text, *words):
    """Check that a text is taken, with a note for each of the words; return the tree."""
    tree = parse_urdf(text)
    for word in words:
        assert any(word in note for note in tree.notes), (word, tree.notes)
    return tree


def only_joint(inside, kind='revolute'):
    """Return the checked joint with these elements."""
    return parse_urdf(robot(joint(kind=kind, inside=inside))).joints[0]


# ---- what is read -----------------------------------------------------------

def test_a_joint_is_read_as_it_stands():
    """Name, type, links, origin, axis and limits."""
    tree = parse_urdf(robot(joint(
        inside='<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 -1 0"/>' + LIMIT)))
    (read,) = tree.joints
    assert (tree.name, tree.root, tree.links, tree.notes) == ('r', 'a', ('a', 'b'), ())
    assert (read.name, read.type, read.parent, read.child) == ('j', JointType.REVOLUTE, 'a', 'b')
    assert np.allclose(read.T_parent_joint,
                       [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]], atol=1e-15)
    assert read.axis.tolist() == [0, -1, 0]
    assert (read.lower, read.upper, read.effort, read.velocity) == (-1, 2, 3, 4)
    assert read.mimic is None and read.moves


def test_joints_are_sorted_from_the_root():
    """A joint comes after the joint above it, whatever the order of the text."""
    tree = parse_urdf(robot(joint('3', parent='c', child='d'), joint('2', parent='b', child='c'),
                            joint('1'), links='dcba'))
    assert tree.root == 'a'
    assert [each.name for each in tree.joints] == ['1', '2', '3']
    assert [each.name for each in tree.path_from_root('c')] == ['1', '2']
    assert tree.joint_above('a') is None and tree.joint_above('d').name == '3'
    assert [each.name for each in tree.joints_below('b')] == ['2']


@pytest.mark.parametrize('name', robots.ARMS)
def test_real_arms_are_read(name):
    """Each real arm is read without a complaint, from bytes, text and file."""
    tree = robots.tree(name)
    text = robots.text(name)
    for other in (parse_urdf(text.decode()), read_urdf(robots.ARMS[name].path)):
        assert other.links == tree.links
        assert [each.name for each in other.joints] == [each.name for each in tree.joints]
    root = ET.fromstring(text)
    assert len(tree.links) == len(root.findall('link'))
    assert len(tree.joints) == len(root.findall('joint'))


# ---- not XML ----------------------------------------------------------------

@pytest.mark.fault('robot description', 'the text is empty or blank', 'refused: it is empty')
@pytest.mark.parametrize('text', ['', ' ', '\n\t ', '\ufeff', b'', b' \n'])
def test_empty(text):
    """Empty and blank texts are called empty."""
    refused(text, 'empty')


@pytest.mark.fault('robot description', 'no XML, cut off, text before the declaration',
                   'refused: not a URDF, with the line and how the text begins')
@pytest.mark.parametrize('text, line', [
    ('hello', 1), ('{"robot": 1}', 1), (GOOD[:-3], 1), (GOOD.replace('</joint>', ''), 1),
    ('x' + GOOD, 1), ('text before <?xml version="1.0"?>' + GOOD, 1),
    ('\n\n<robot name="r">\n<link name="a"\n</robot>', 5), (GOOD + GOOD, 1),
    (GOOD.replace('"j"', 'j'), 1), (b'\x00\x01\x02' + GOOD.encode(), 1),
    (GOOD.replace('"j"', '"j\x00"'), 1), (GOOD.replace('"j"', '"j\ud800"'), 1),
    (GOOD.replace('"j"', '"j&#27;"'), 1), (GOOD.replace('"j"', '"&nbsp;"'), 1),
    (b'\xff\xfe' + GOOD.encode(), 1), (GOOD.encode('utf-16')[:-1], 1)])
def test_not_xml(text, line):
    """Not a URDF, the line, and how the text begins."""
    sentence = refused(text, 'not a URDF')
    if isinstance(text, str):
        assert f'at line {line},' in sentence, sentence
        begin = ascii(text.strip()[:10])[1:-1]
        assert 'the text begins with' in sentence and begin in sentence


@pytest.mark.fault('robot description', 'a fault deep in the text',
                   'the line is named, and at most 60 characters of the text are quoted')
def test_the_line_is_named():
    """The line of the fault, and no more than 60 characters of the text."""
    text = GOOD.replace('><', '>\n<').replace('<axis', '<axis <')
    line = 1 + text[:text.index('<axis')].count('\n')
    sentence = refused(text, f'line {line}')
    assert ascii(text[:60]) in sentence and ascii(text[:61])[:-1] not in sentence


@pytest.mark.fault('robot description', 'the file is missing or is a folder',
                   'refused with the path and what to do')
def test_a_file_that_cannot_be_read(tmp_path):
    """A missing file, a folder: the path and what to do."""
    for path in (tmp_path / 'absent.urdf', tmp_path):
        with pytest.raises(UrdfError, match='cannot read the URDF file') as caught:
            read_urdf(path)
        assert str(path) in str(caught.value) and 'Give the path' in str(caught.value)
    path = tmp_path / 'good.urdf'
    path.write_text(GOOD)
    assert read_urdf(str(path)).name == 'r'


# ---- encodings --------------------------------------------------------------

@pytest.mark.fault('robot description', 'a declared encoding in text that is decoded already',
                   'taken')
@pytest.mark.parametrize('encoding', ['utf-8', 'UTF-8', 'utf-16', 'us-ascii', 'iso-8859-1'])
def test_an_encoding_declaration_in_text(encoding):
    """Text that has been decoded may still carry its declaration."""
    assert parse_urdf(f'<?xml version="1.0" encoding="{encoding}"?>\n' + GOOD).name == 'r'
    assert parse_urdf(f'\n <?xml version="1.0" encoding="{encoding}"?>\n' + GOOD).name == 'r'


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'iso-8859-1'])
def test_bytes_in_their_encoding(encoding):
    """Bytes are read by the encoding that they declare."""
    declared = {'utf-8-sig': 'utf-8'}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{declared}"?>' + GOOD.replace('"j"', '"jäö"')
    assert parse_urdf(text.encode(encoding)).joints[0].name == 'jäö'


@pytest.mark.parametrize('encoding', ['utf-7', 'nonsense', 'cp037', 'shift_jis', 'rot13', 'hex',
                                      'idna', 'latin-1', 'cp437'])
def test_encodings_that_cannot_be_read(encoding):
    """Another encoding is refused as a UrdfError (or read), never otherwise."""
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + GOOD
    try:
        assert parse_urdf(text.encode()).joints[0].name == 'j'
    except UrdfError as error:
        assert 'encoding' in str(error) or 'not a URDF' in str(error)


# ---- document types ---------------------------------------------------------

LAUGHS = '<!DOCTYPE robot [<!ENTITY a0 "ha">' + ''.join(
    f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12)) + ']>'


@pytest.mark.fault('robot description', 'DOCTYPE in an encoding that is not usual', 'refused')
@pytest.mark.parametrize('encoding, declared', each_once(
    ['utf-32', 'utf-32-le', 'utf-7', 'utf-16-le', 'cp037'], [False, True]))
def test_document_types_in_odd_encodings(encoding, declared):
    """However it is written; there is no way around."""
    head = f'<?xml version="1.0" encoding="{encoding}"?>' if declared else ''
    with pytest.raises(UrdfError):
        parse_urdf((head + '<!DOCTYPE robot>' + GOOD).encode(encoding))


@pytest.mark.fault('robot description', 'DOCTYPE, entities',
                   'refused before anything in it is looked at')
@pytest.mark.parametrize('doctype, encoding', each_once([
    '<!DOCTYPE robot>', '<!DOCTYPE robot SYSTEM "http://127.0.0.1:9/x.dtd">',
    '<!DOCTYPE robot PUBLIC "-//x//y" "file:///etc/passwd">', LAUGHS,
    '<!DOCTYPE robot [<!ENTITY e SYSTEM "file:///etc/passwd">]>',
    '<!DOCTYPE robot [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>'],
    ['text', 'utf-8', 'utf-8-sig', 'utf-16', 'utf-16-le', 'utf-16-be']))
def test_document_types(doctype, encoding):
    """Every document type is refused before anything in it is looked at."""
    used = {'<!ENTITY e': '&e;', '<!ENTITY a': '&a11;'}
    use = next((value for key, value in used.items() if key in doctype), '')
    text = doctype + GOOD.replace('"r"', f'"r{use}"' if 'SYSTEM' not in doctype else '"r"') \
        .replace('<link name="a"/>', f'<link name="a">{use}</link>')
    if encoding.startswith('utf-16-'):
        bom = {'utf-16-le': b'\xff\xfe', 'utf-16-be': b'\xfe\xff'}[encoding]
        data = bom + text.encode(encoding)
    else:
        data = text if encoding == 'text' else text.encode(encoding)
    sentence = refused(data, 'DOCTYPE', 'remove it')
    assert 'root:' not in sentence


OPENED: list[str] | None = None


def _watch(event, arguments):
    """Note which files are opened while OPENED is a list (audit hooks stay for ever)."""
    if OPENED is not None and event in ('open', 'socket.connect', 'socket.getaddrinfo'):
        OPENED.append(str(arguments[0]))


sys.addaudithook(_watch)


@pytest.mark.fault('robot description', 'missing meshes, file:///etc/...', 'no file is opened')
def test_no_file_is_opened():
    """Parsing opens nothing, whatever meshes and entities are named."""
    global OPENED
    mesh = ('<link name="m"><visual><geometry><mesh filename="file:///etc/passwd"/></geometry>'
            '</visual><collision><geometry><mesh filename="package://absent/x.stl"/></geometry>'
            '</collision></link>')
    text = robot(joint(), joint('f', 'fixed', 'b', 'm', ''), mesh)
    entity = '<!DOCTYPE robot [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + GOOD
    parse_urdf(text)
    OPENED = []
    try:
        assert parse_urdf(text).links == ('a', 'b', 'm')
        with pytest.raises(UrdfError):
            parse_urdf(entity)
        opened = OPENED
    finally:
        OPENED = None
    assert opened == []


# ---- caps -------------------------------------------------------------------

@pytest.mark.fault('robot description', 'more than 16 MiB', 'refused with the cap')
def test_size():
    """Beyond the cap in bytes, as text and as bytes."""
    text = GOOD + ' ' * MAX_BYTES
    refused(text, '16 MiB')
    refused(text.encode(), '16 MiB')


@pytest.mark.fault('robot description', 'more than 20000 elements', 'refused with the cap')
def test_elements():
    """Beyond the cap on elements; just below it is fine."""
    count = MAX_ELEMENTS - 1 - len('ab') - 5
    parse_urdf(robot(joint(), '<x/>' * count))
    refused(robot(joint(), '<x/>' * (count + 1)), str(MAX_ELEMENTS), 'elements')
    refused(robot(joint(), '<x/>' * 200_000), str(MAX_ELEMENTS))


@pytest.mark.fault('robot description', 'nested deeper than 64', 'refused with the cap')
def test_depth():
    """Beyond the cap on depth; just below it is fine."""
    parse_urdf(robot(joint(), '<x>' * 63 + '</x>' * 63))
    refused(robot(joint(), '<x>' * 64 + '</x>' * 64), 'deeper than 64')
    refused(robot(joint(), '<x>' * 100_000 + '</x>' * 100_000), 'deeper than 64')


@pytest.mark.fault('robot description', 'a name or number of a thousand characters and more',
                   'refused, and not repeated in full')
@pytest.mark.parametrize('place, size', each_once([
    ('"j"', '"{}"'), ('lower="-1"', 'lower="{}"'), ('name="r"', 'name="{}"'),
    ('link="a"', 'link="{}"'), ('type="revolute"', 'type="{}"')], [1001, 2_000_000, 12_000_000]))
def test_long_values(place, size):
    """A value of more than a thousand characters is refused, shortly."""
    old, new = place
    sentence = refused(GOOD.replace(old, new.format('1' * size)))
    assert str(size) in sentence or size > 10_000_000
    assert '1' * 200 not in sentence


@pytest.mark.parametrize('size', [1_000_000, 12_000_000])
@pytest.mark.parametrize('inside', ['<visual x="{}"/>', '{}', '<!--{}-->', '<?p {}?>'])
def test_long_rubbish(inside, size):
    """Megabytes where nothing is read are passed over or refused as a UrdfError."""
    text = GOOD.replace('<link name="a"/>', f'<link name="a">{inside.format("y" * size)}</link>')
    try:
        assert parse_urdf(text).links == ('a', 'b')
    except UrdfError as error:
        assert len(str(error)) < 500


# ---- another format ---------------------------------------------------------

@pytest.mark.fault('robot description', 'an SDF file', 'refused: it is called so')
def test_sdf():
    """An SDF file is called so."""
    refused('<sdf version="1.7"><model name="m"/></sdf>', '<sdf>', 'SDF', 'convert')


def test_another_root():
    """Another root element is named."""
    refused('<html><body/></html>', '<html>', '<robot>', 'not a robot description')


XACRO = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'


@pytest.mark.fault('robot description', 'xacro that is not expanded', 'refused: expand it first')
@pytest.mark.parametrize('text', [
    robot(joint(), '<xacro:include filename="x"/>', name=f'name="r" {XACRO}'),
    robot(joint(), '<xacro:property name="w" value="1"/>', '<gazebo>${w}</gazebo>'),
    robot(joint(), '<xacro:property name="w" value="1"/>', '<gazebo x="$(arg w)"/>'),
    robot(joint(), '<xacro:arm prefix="a"/>', name=f'name="r" {XACRO}'),
    robot(joint(inside='<origin xyz="${x} 0 0"/>' + AXIS + LIMIT)),
    robot(joint(inside=AXIS + LIMIT.replace('"-1"', '"$(arg lower)"'))),
    robot(joint('${prefix}j'))])
def test_xacro(text):
    """Unexpanded xacro is called so, with what to do."""
    refused(text, 'xacro', 'expand it first')


@pytest.mark.fault('robot description', 'definitions of xacro that nothing uses',
                   'passed over, with a note')
@pytest.mark.parametrize('left', ['<xacro:property name="width" value=".2"/>',
                                  '<xacro:macro name="m"><link name="${x}"/></xacro:macro>'])
def test_xacro_that_nothing_uses(left):
    """Other programs load such files."""
    accepted(robot(left, joint(), name=f'name="r" {XACRO}'), 'which nothing in it uses')


def test_xacro_prefix_that_is_not_declared():
    """Xacro is known by its prefix, declared or not."""
    refused(robot(joint(), '<xacro:arm prefix="a"/>'), 'xacro', 'expand it first')


@pytest.mark.parametrize('element', ['<gazebo:tag/>', '<:c/>', '<?a:b c?>', '<g a:b="1"/>'])
def test_prefixes_that_are_not_declared(element):
    """What kinematics does not need may have any prefix."""
    assert parse_urdf(robot(joint(), element)).name == 'r'


def test_expanded_xacro_is_fine():
    """The namespace alone, left over by xacro, does no harm."""
    assert parse_urdf(robot(joint(), name=f'name="r" {XACRO}')).name == 'r'


# ---- something missing ------------------------------------------------------

@pytest.mark.fault('robot description', 'no name, no links, no joints, a joint without ends',
                   'refused, with what is missing')
@pytest.mark.parametrize('text, word', [
    (robot(joint(), name=''), '<robot> element'), (robot(joint(), name='name=" "'), 'robot'),
    (robot(links=''), 'no links'), (robot(joint(), links=''), 'no links'),
    (robot(links='a'), 'no joints'), (robot(links='ab'), 'no joints'),
    (GOOD.replace('name="j" ', ''), '<joint> element'),
    (GOOD.replace('<link name="a"/>', '<link/>'), '<link> element'),
    (GOOD.replace('type="revolute"', ''), "joint 'j' has no type"),
    (GOOD.replace('<parent link="a"/>', ''), "joint 'j' has no <parent"),
    (GOOD.replace('<child link="b"/>', ''), "joint 'j' has no <child"),
    (GOOD.replace('<parent link="a"/>', '<parent/>'), "<parent> of joint 'j' has no link"),
    (GOOD.replace('<child link="b"/>', '<child link=""/>'), "<child> of joint 'j' has no link")])
def test_missing(text, word):
    """Names, links, joints and their ends must be there."""
    refused(text, word)


# ---- names and structure ----------------------------------------------------

@pytest.mark.fault('robot description', 'two links or two joints of one name',
                   'refused with the name')
def test_duplicate_names():
    """Two links or two joints of one name are refused by it."""
    refused(robot(joint(), links='aab'), "two links have the name 'a'")
    refused(robot(joint(), joint(parent='b', child='c'), links='abc'),
            "two joints have the name 'j'")
    assert parse_urdf(robot(joint('a'))).joints[0].name == 'a'  # a joint named as a link


@pytest.mark.fault('robot description', 'a joint to a link that does not exist',
                   'refused with joint and link')
@pytest.mark.parametrize('end', ['parent', 'child'])
def test_missing_link(end):
    """A joint to a link that does not exist is refused by joint, end and link."""
    refused(robot(joint(**{end: 'ghost'})), "joint 'j'", f'{end} link', "'ghost'",
            'does not exist')


@pytest.mark.fault('robot description', 'two roots, two parents, loops',
                   'refused with the links and joints')
@pytest.mark.parametrize('parts, links, words', [
    ([joint()], 'abc', ['2 roots', "'a'", "'c'", 'fixed']),
    ([joint(), joint('k', parent='c', child='d')], 'abcd', ['2 roots', "'a'", "'c'"]),
    ([joint(), joint('k', parent='c', child='b')], 'abc', ["'b'", 'two parents', "'j'", "'k'"]),
    ([joint(), joint('k', parent='b', child='a')], 'ab', ['loop', "'a'", "'b'"]),
    ([joint(child='a')], 'a', ['loop', "'a'"]),
    ([joint(), joint('k', parent='c', child='c')], 'abc', ['loop', "'c'"]),
    ([joint(), joint('k', parent='c', child='d'), joint('l', parent='d', child='c')], 'abcd',
     ['loop', "'c'", "'d'"]),
    ([joint(), joint('k', parent='a', child='b')], 'ab', ['two parents', "'j'", "'k'"])])
def test_not_a_tree(parts, links, words):
    """Two roots, two parents, loops and self-loops are refused by links and joints."""
    refused(robot(*parts, links=links), *words)


# ---- tips and bases are in test_chain ---------------------------------------

# ---- types ------------------------------------------------------------------

@pytest.mark.fault('robot description', 'a joint type that does not exist',
                   'refused with joint and type')
@pytest.mark.parametrize('kind', ['helical', 'Revolute', 'ball', '1'])
def test_unknown_types(kind):
    """An unknown type is refused by joint and type."""
    refused(robot(joint(kind=kind)), f'{kind}', 'joint', "'j'")


@pytest.mark.fault('robot description', 'a floating or planar joint',
                   'refused in the chain, passed over elsewhere')
@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_floating_and_planar(kind):
    """Joints of more freedoms are refused in the chain, and allowed elsewhere."""
    tree = parse_urdf(robot(joint('loose', kind, inside=''), joint('k', parent='b', child='c'),
                            links='abc'))
    with pytest.raises(IkNodeError, match=f"'loose' .* is {kind}"):
        make_chain(tree, 'a', 'c')
    assert make_chain(tree, 'b', 'c').n == 1


# ---- limits -----------------------------------------------------------------

@pytest.mark.fault('robot description', 'a revolute or prismatic joint without limits',
                   'refused, with what to add: position limits come from the robot description'
                   ' alone')
@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_no_limit(kind):
    """A limited joint without limits is refused, with what to add."""
    sentence = refused(robot(joint('elbow', kind, inside=AXIS)), "joint 'elbow'", kind, '<limit')
    assert ('continuous' in sentence) == (kind == 'revolute')


@pytest.mark.parametrize('kind', ['continuous', 'fixed'])
def test_no_limit_is_needed(kind):
    """Joints that have no range need no limits."""
    read = only_joint(AXIS, kind)
    assert (read.lower, read.upper, read.velocity) == (-math.inf, math.inf, math.inf)


@pytest.mark.fault('robot description', 'limits without lower and upper',
                   'both are 0, as the standard says, with a note that the joint cannot move')
def test_limit_without_range():
    """Absent lower and upper mean 0 (the standard), so the joint is noted as locked."""
    tree = accepted(robot(joint(inside=AXIS + '<limit effort="1" velocity="1"/>')),
                    "joint 'j' cannot move")
    assert (tree.joints[0].lower, tree.joints[0].upper) == (0.0, 0.0)
    assert only_joint(AXIS + '<limit upper="2" velocity="1"/>').lower == 0.0


@pytest.mark.fault('robot description', 'lower above upper, NaN, infinite, text',
                   'refused with joint and values')
@pytest.mark.parametrize('lower, upper, words', [
    ('1', '-1', ['1', '-1', 'swap']), ('nan', '1', ['not finite']), ('-1', 'nan', ['not finite']),
    ('-inf', '1', ['not finite']), ('-1', 'inf', ['not finite']), ('-inf', 'inf', ['not finite']),
    ('-1e999', '1', ['not finite']), ('low', '1', ['low', 'lower']), ('', '1', ['lower']),
    ('-1', '1,5', ['1,5', 'upper']), ('-1 -1', '1', ['lower'])])
def test_bad_ranges(lower, upper, words):
    """Swapped, infinite and nonsensical limits are refused by joint and value."""
    refused(robot(joint(inside=AXIS + f'<limit lower="{lower}" upper="{upper}" effort="1" '
                        'velocity="1"/>')), "'j'", *words)


@pytest.mark.fault('robot description', 'lower equals upper', 'a locked joint, with a note')
def test_equal_limits():
    """Equal limits are a locked joint with a note."""
    tree = accepted(robot(joint(inside=AXIS + '<limit lower="0.5" upper="0.5" velocity="1"/>')),
                    "'j' cannot move: both its limits are 0.5")
    chain = make_chain(tree, 'a', 'b')
    assert chain.lower.tolist() == chain.upper.tolist() == [0.5]


@pytest.mark.fault('robot description', 'negative or NaN velocity limit', 'refused with the joint')
@pytest.mark.parametrize('value', ['nan', '-1', '-0.001', '-inf'])
def test_bad_velocity(value):
    """Negative and nonsensical velocity limits are refused."""
    inside = LIMIT.replace('velocity="4"', f'velocity="{value}"')
    refused(robot(joint(inside=AXIS + inside)), 'velocity limit', "'j'")


@pytest.mark.fault('robot description', 'negative or NaN effort limit',
                   'taken as not given, with a note')
@pytest.mark.parametrize('value', ['nan', '-1', '-inf'])
def test_bad_effort(value):
    """Kinematics needs no efforts."""
    inside = LIMIT.replace('effort="3"', f'effort="{value}"')
    tree = accepted(robot(joint(inside=AXIS + inside)), "effort limit of joint 'j'")
    assert tree.joints[0].effort == 0.0


@pytest.mark.fault('robot description', 'no, infinite or zero velocity limit',
                   'left to the parameter motion.velocity_limits; zero with a note')
@pytest.mark.parametrize('inside, noted', [
    ('<limit lower="-1" upper="1" effort="1"/>', False),
    ('<limit lower="-1" upper="1" effort="1" velocity="inf"/>', False),
    ('<limit lower="-1" upper="1" effort="1" velocity="0"/>', True)])
def test_no_velocity(inside, noted):
    """No velocity, infinite or zero is left to the parameter; zero is noted."""
    tree = parse_urdf(robot(joint(inside=AXIS + inside)))
    assert math.isinf(tree.joints[0].velocity)
    assert noted == any("velocity limit of joint 'j' is 0" in note for note in tree.notes)


def test_no_effort():
    """A missing effort is no reason to refuse a model."""
    assert only_joint(AXIS + '<limit lower="-1" upper="1" velocity="1"/>').effort == 0.0


# ---- geometry ---------------------------------------------------------------

@pytest.mark.fault('robot description', 'no axis',
                   'it is 1 0 0, as the standard says, with a note')
def test_no_axis():
    """Without an axis it is 1 0 0, with a note."""
    tree = accepted(robot(joint(inside=LIMIT)), "joint 'j' has no axis")
    assert tree.joints[0].axis.tolist() == [1.0, 0.0, 0.0]
    # An element without the attribute means the same, or is refused by joint.
    try:
        assert only_joint('<axis/>' + LIMIT).axis.tolist() == [1.0, 0.0, 0.0]
    except UrdfError as error:
        assert "'j'" in str(error) and 'axis' in str(error)


@pytest.mark.fault('robot description', 'axis of zeros', 'refused with the joint')
def test_zero_axis():
    """A zero axis is refused by joint."""
    for axis in ('0 0 0', '0 0 1e-12', '-0 0 0'):
        refused(robot(joint(inside=f'<axis xyz="{axis}"/>' + LIMIT)), "axis of joint 'j'", 'zero')


@pytest.mark.fault('robot description', 'axis that is not of unit length',
                   'normalised, with a note')
@pytest.mark.parametrize('axis', ['0 0 2', '3 0 4', '1e-3 0 0', '1 1 1', '1e200 0 0',
                                  '0 1e308 1e308'])
def test_axis_that_is_not_unit(axis):
    """An axis of another length is normalised, with a note (or refused if absurd)."""
    given_axis = np.array(axis.split(), dtype=float)
    tree = accepted(robot(joint(inside=f'<axis xyz="{axis}"/>' + LIMIT)), "axis of joint 'j'")
    if tree.joints[0].fault:
        assert np.abs(given_axis).max() > 1e100
        return
    scaled = given_axis / np.abs(given_axis).max()
    assert np.allclose(tree.joints[0].axis, scaled / np.linalg.norm(scaled), atol=1e-15)


@pytest.mark.fault('robot description', 'axis of other than three finite numbers',
                   'refused with the joint')
@pytest.mark.parametrize('axis', ['0 1', '0 0 1 0', '1', '', 'z', '0 0 nan', 'inf 0 0',
                                  '0, 0, 1'])
def test_bad_axis(axis):
    """Other than three finite numbers are refused by joint and axis."""
    sentence = refused(robot(joint(inside=f'<axis xyz="{axis}"/>' + LIMIT)), 'axis')
    assert "'j'" in sentence


@pytest.mark.fault('robot description', 'origin of other than finite numbers',
                   'refused with joint and attribute')
@pytest.mark.parametrize('attribute', ['xyz', 'rpy'])
@pytest.mark.parametrize('value', ['nan 0 0', '0 inf 0', '0 0 -inf', 'a b c', '0 0', '0 0 0 0',
                                   '', '1e999 0 0'])
def test_bad_origin(attribute, value):
    """An origin that is not three finite numbers is refused by joint and attribute."""
    refused(robot(joint(inside=f'<origin {attribute}="{value}"/>' + AXIS + LIMIT)),
            'origin', attribute, "'j'")


@pytest.mark.fault('robot description', 'an offset of more than a kilometre',
                   'a note: millimetres?')
def test_huge_origin():
    """Beyond a kilometre the file is probably in millimetres."""
    accepted(robot(joint(inside='<origin xyz="0 -1001 0"/>' + AXIS + LIMIT)),
             "joint 'j' has an offset of 1001 m", 'millimetres')
    assert not parse_urdf(robot(joint(inside='<origin xyz="0 999 0"/>' + AXIS + LIMIT))).notes


# ---- mimic ------------------------------------------------------------------

def mimics(*pairs):
    """Return a robot whose joints j0, j1, ... follow the named ones ('' = none)."""
    parts = []
    for k, leader in enumerate(pairs):
        follow = f'<mimic joint="{leader}"/>' if leader else ''
        parts.append(joint(f'j{k}', parent='abcdef'[k], child='abcdef'[k + 1],
                           inside=AXIS + LIMIT + follow))
    return robot(*parts, links='abcdef'[:len(pairs) + 1])


@pytest.mark.fault('robot description', 'mimic of an unknown joint, of itself, in a loop',
                   'refused with the joints')
def test_mimic():
    """Unknown leaders, itself and loops are refused, with the joints."""
    refused(mimics('', 'ghost'), "'j1'", "'ghost'", 'does not exist')
    refused(mimics('j0'), 'loop', "'j0' -> 'j0'")
    refused(mimics('j1', 'j0'), 'loop', "'j0'", "'j1'")
    refused(mimics('j1', 'j2', 'j0'), 'loop', "'j0' -> 'j1' -> 'j2' -> 'j0'")
    refused(mimics('j1', 'j2', 'j1'), 'loop', "'j1'", "'j2'")
    refused(robot(joint('f', 'fixed', inside=''), links='abc').replace(
        '</robot>', joint('j', parent='b', child='c', inside=AXIS + LIMIT
                          + '<mimic joint="f"/>') + '</robot>'), "'j'", "fixed joint 'f'")
    refused(mimics('').replace(LIMIT, LIMIT + '<mimic multiplier="1"/>'),
            "<mimic> of joint 'j0' has no joint")


@pytest.mark.fault('robot description', 'mimic without factor and offset', '1 and 0')
def test_defaults():
    """A missing factor is 1, a missing offset 0; a line of mimics is fine."""
    tree = parse_urdf(mimics('', 'j0', 'j1'))
    assert [each.mimic and each.mimic.joint for each in tree.joints] == [None, 'j0', 'j1']
    assert (tree.joints[1].mimic.multiplier, tree.joints[1].mimic.offset) == (1.0, 0.0)
    assert parse_urdf(mimics('j1', '')).joints[0].mimic.joint == 'j1'  # leader below


@pytest.mark.fault('robot description', 'mimic with a factor that is not a finite number',
                   'refused with the joint')
@pytest.mark.parametrize('attribute', ['multiplier', 'offset'])
@pytest.mark.parametrize('value', ['nan', 'inf', '-inf', 'x'])
def test_bad_factors(attribute, value):
    """Factors and offsets that are not finite are refused by joint."""
    refused(mimics('', 'j0').replace('joint="j0"', f'joint="j0" {attribute}="{value}"'),
            "'j1'", 'mimic')


# ---- more about limits ------------------------------------------------------

@pytest.mark.fault('robot description', 'soft limits outside the hard ones, or absent',
                   'the intersection counts; absent ones do not freeze the joint')
@pytest.mark.parametrize('soft, expected', [
    ('', (-1.0, 2.0)), ('soft_lower_limit="-0.5"', (-0.5, 2.0)),
    ('soft_upper_limit="1.5"', (-1.0, 1.5)),
    ('soft_lower_limit="-0.5" soft_upper_limit="1.5"', (-0.5, 1.5)),
    ('soft_lower_limit="-5" soft_upper_limit="5"', (-1.0, 2.0)),
    ('soft_lower_limit="-5" soft_upper_limit="0"', (-1.0, 0.0))])
def test_soft_limits(soft, expected):
    """The intersection counts; absent soft limits do not freeze the joint."""
    read = only_joint(AXIS + LIMIT + f'<safety_controller k_velocity="10" {soft}/>')
    assert (read.lower, read.upper) == expected


@pytest.mark.fault('robot description', 'soft limits that leave nothing', 'refused with the joint')
@pytest.mark.parametrize('soft', ['soft_lower_limit="3"', 'soft_upper_limit="-2"',
                                  'soft_lower_limit="1" soft_upper_limit="0"',
                                  'soft_lower_limit="nan"', 'soft_upper_limit="nan"'])
def test_empty_intersection(soft):
    """Soft limits that leave nothing, or are no numbers, are refused by joint."""
    refused(robot(joint(inside=AXIS + LIMIT + f'<safety_controller k_velocity="1" {soft}/>')),
            'soft limit', "joint 'j'")


@pytest.mark.fault('robot description', 'limits in degrees',
                   'a note, if they are more than two turns and round')
def test_degrees():
    """A range of more than two turns in round numbers is noted; 455 degrees in rad are not."""
    accepted(robot(joint(inside=AXIS + '<limit lower="-180" upper="180" velocity="1"/>')),
             "joint 'j' turns from -180 to 180 rad", 'degrees')
    for kind, limit in (('revolute', '6.2831853'), ('revolute', '7.9412'), ('prismatic', '180')):
        assert not parse_urdf(robot(joint(kind=kind, inside=AXIS + f'<limit lower="-{limit}" '
                                          f'upper="{limit}" velocity="1"/>'))).notes


# ---- what kinematics does not need ------------------------------------------

RUBBISH = [
    '<transmission/>', '<transmission name="t"><type>x</type><joint/></transmission>',
    '<transmission name="t"><joint name="nobody"><hardwareInterface/></joint></transmission>',
    '<ros2_control name="x" type="system"><hardware><plugin>a/b</plugin></hardware>'
    '<joint name="j"><command_interface name="position"/></joint></ros2_control>',
    '<gazebo reference="a"><material>Gazebo/Red</material></gazebo>', '<gazebo/>',
    '<material name="m"><color rgba="1 2"/></material>', '<material/>', '<sensor name="s"/>',
    '<unknown a="1"><b/></unknown>', '<!-- a comment -->', '<?php hello ?>', 'text', '&lt;',
    '<group name="x"><joint name="j"/></group>']


@pytest.mark.fault('robot description',
                   'broken transmissions, ros2_control, gazebo and unknown tags', 'passed over')
@pytest.mark.parametrize('rubbish', RUBBISH)
def test_rubbish_in_the_robot(rubbish):
    """What kinematics does not need is passed over, broken or not."""
    tree = parse_urdf(robot(rubbish, joint(), rubbish))
    assert tree.links == ('a', 'b') and [each.name for each in tree.joints] == ['j']


@pytest.mark.fault('robot description', 'two geometries, broken masses', 'passed over')
@pytest.mark.parametrize('rubbish', [
    '<visual><geometry><box size="1 1 1"/><sphere radius="1"/></geometry></visual>',
    '<visual><geometry/></visual>', '<visual/>', '<collision><origin xyz="nan"/></collision>',
    '<inertial><mass/></inertial>', '<inertial><inertia ixx="x"/></inertial>', '<unknown/>',
    '<visual><geometry><mesh filename="package://absent/a.stl"/></geometry></visual>',
    '<visual><geometry><mesh filename="file:///etc/shadow" scale="1"/></geometry></visual>'])
def test_rubbish_in_a_link(rubbish):
    """Shapes, masses and meshes are never looked at."""
    text = GOOD.replace('<link name="a"/>', f'<link name="a" x="y">{rubbish}</link>')
    assert parse_urdf(text).links == ('a', 'b')


@pytest.mark.parametrize('rubbish', ['<calibration rising="x"/>', '<dynamics damping="y"/>',
                                     '<unknown/>', '<property k="v"/>', '<!-- c -->'])
def test_rubbish_in_a_joint(rubbish):
    """Calibration, dynamics and unknown elements of joints are passed over."""
    assert only_joint(AXIS + LIMIT + rubbish).upper == 2.0


@pytest.mark.fault('robot description', 'an orientation as quat or quaternion',
                   'refused, because it would be dropped')
@pytest.mark.parametrize('attribute', ['quat', 'quaternion'])
def test_orientation_in_another_form(attribute):
    """An orientation that would be dropped is refused instead."""
    refused(robot(joint(inside=f'<origin xyz="0 0 0" {attribute}="0 0 0 1"/>' + AXIS + LIMIT)),
            attribute, "<origin> of joint 'j'", 'rpy')


@pytest.mark.parametrize('tag', ['origin', 'axis', 'limit', 'parent', 'child', 'mimic',
                                 'safety_controller'])
def test_elements_twice(tag):
    """Of two elements of one kind it would be a guess which counts."""
    element = {'parent': '<parent link="a"/>', 'child': '<child link="b"/>',
               'limit': LIMIT, 'axis': AXIS}.get(tag, f'<{tag}/>')
    if tag == 'mimic':
        element = '<mimic joint="k"/>'
    inside = AXIS + LIMIT + element + (element if tag in ('origin', 'mimic', 'safety_controller')
                                       else '')
    refused(robot(joint(inside=inside)), "joint 'j'", f'two <{tag}>')


# ---- faults beside the arm --------------------------------------------------

@pytest.mark.fault('robot description', 'a fault of a joint that the arm does not have',
                   'a note; refused where the arm has the joint')
@pytest.mark.parametrize('inside, words, placed', [
    (AXIS + '<limit lower="0" upper="-1.57" velocity="1"/>', 'swap', True),
    (AXIS + '<limit lower="nan" upper="1" velocity="1"/>', 'not finite', True),
    (AXIS + LIMIT.replace('"4"', '"-4"'), 'velocity limit', True),
    (AXIS, 'no <limit>', True), (AXIS + LIMIT + LIMIT, 'two <limit>', True),
    ('<axis xyz="0 0 0"/>' + LIMIT, 'zero', False), ('<axis xyz="x"/>' + LIMIT, 'axis', False),
    ('<origin xyz="1 2"/>' + AXIS + LIMIT, 'origin', False),
    (AXIS + LIMIT + '<mimic joint="ghost"/>', 'ghost', False),
    (AXIS + LIMIT + '<mimic joint="side"/>', 'loop', False)])
def test_faults_beside_the_arm(inside, words, placed):
    """The arm loads with a note; it is known that the link behind the joint is anywhere."""
    text = robot(joint(), joint('side', parent='b', child='c', inside=inside), links='abc')
    tree = accepted(text, words)
    assert make_chain(tree, 'a', 'b').n == 1
    refused(text, words)
    poses = link_poses(tree, 'a', {'j': 0.0, 'side': 0.1})
    assert ('c' in poses) == placed
    if not placed:
        with pytest.raises(StateError, match=words):
            link_path(tree, 'a', 'c', ('j',))


def test_an_unknown_type_beside_the_arm():
    """It is nothing to the arm."""
    tree = accepted(robot(joint(), joint('side', 'helical', 'b', 'c'), links='abc'), 'helical')
    assert make_chain(tree, 'a', 'b').n == 1
    assert 'c' not in link_poses(tree, 'a', {'j': 0.0, 'side': 0.1})


@pytest.mark.fault('robot description', 'a continuous joint with limits',
                   'they are ignored, with a note')
def test_a_continuous_joint_with_limits():
    """It may be meant as revolute."""
    tree = accepted(robot(joint(kind='continuous')), 'make it revolute')
    assert make_chain(tree, 'a', 'b').continuous.all()


@pytest.mark.fault('robot description', 'text that is not UTF-8', 'refused: save it as UTF-8')
def test_other_encodings():
    """The line is named, and what to do."""
    text = '<!-- \u624b -->\n'.join(['<?xml version="1.0"?>\n', GOOD])
    refused(text.encode('gbk'), 'at line 2', 'save it as UTF-8')
    assert parse_urdf(text.encode()).name == 'r'


# ---- names ------------------------------------------------------------------

@pytest.mark.fault('robot description', 'names with spaces, non-ASCII', 'taken')
@pytest.mark.parametrize('name', ['with space', 'größe', '関節', '1', '-', 'a/b', "it's",
                                  'x' * 999, 'a.b:c', '💪'])
def test_odd_names(name):
    """Names are the robot maker's choice."""
    tree = parse_urdf(robot(joint(name)))
    assert tree.joints[0].name == name
    assert make_chain(tree, 'a', 'b').joint_names == (name,)


@pytest.mark.fault('robot description', 'control characters and very long names',
                   'escaped and cut in every sentence')
def test_names_are_escaped_in_sentences():
    """A name cannot write to the terminal, and a long one is cut."""
    for name in ('ev\u202eil', 'line&#10;break', 'tab&#9;', 'x' * 900):
        sentence = refused(robot(joint(name, child='ghost')), "'ghost'")
        assert sentence.isprintable() and sentence.isascii() and len(sentence) < 300


def test_a_joint_type_is_escaped_in_the_sentence():
    """The parser quotes it as it is given."""
    odd = robot(joint(inside=AXIS + LIMIT)).replace('"revolute"', '"revolute&#x7f;"')
    assert refused(odd, 'unknown type').isprintable()


# ---- mutations of real arms -------------------------------------------------

MUTATED = ('ur5', 'panda', 'kinova')
VALUES = ('nan', 'inf', '-inf', '', ' ', 'text', '1e308', '-1e308', '1e-308', '1e999', '0', '-1',
          '1', '0 0 0', '1e308 1e308 1e308', '1 2', '9' * 1001, '${x}', '-0', '1e200 0 0')


def names_of(root):
    """Return the names in a robot, for swapping."""
    return [element.get('name') for element in root if element.get('name')]


@st.composite
def mutants(draw):
    """Draw a real URDF with one to four faults."""
    name = draw(st.sampled_from(MUTATED))
    root = copy.deepcopy(PARSED[name])
    for _ in range(draw(st.integers(1, 4))):
        places = [(parent, child) for parent in root.iter() for child in parent
                  if child.tag not in ('visual', 'collision', 'inertial')]
        joints = [(parent, child) for parent, child in places
                  if parent.tag == 'joint' or child.tag == 'joint']
        if not joints:
            break
        parent, child = draw(st.sampled_from(joints if draw(st.booleans()) else places))
        fault = draw(st.sampled_from(['delete', 'duplicate', 'swap', 'attribute', 'value',
                                      'value', 'value', 'name', 'move']))
        attributes = sorted(child.attrib)
        if fault == 'delete':
            parent.remove(child)
        elif fault == 'duplicate':
            parent.append(copy.deepcopy(child))
        elif fault == 'move':
            parent.remove(child)
            draw(st.sampled_from([element for element in root.iter()])).append(child)
        elif fault == 'swap':
            _, other = draw(st.sampled_from(joints))
            child.attrib, other.attrib = other.attrib, child.attrib
        elif attributes:
            key = draw(st.sampled_from(attributes))
            if fault == 'attribute':
                del child.attrib[key]
            elif fault == 'name':
                child.attrib[key] = draw(st.sampled_from(names_of(root) or ['x']))
            else:
                child.attrib[key] = draw(st.sampled_from(VALUES))
    return name, ET.tostring(root)


PARSED = {name: ET.fromstring(robots.text(name)) for name in MUTATED}


def assert_valid(chain):
    """Check the invariants of a chain."""
    n, m = chain.n, len(chain.joints)
    assert 1 <= n <= m and len(set(chain.joint_names)) == n
    for array in (chain.lower, chain.upper, chain.velocity, chain.continuous, chain.revolute):
        assert array.shape == (n,)
    assert chain.offsets.shape == (m + 1, 12) and np.isfinite(chain.offsets).all()
    assert chain.factors.shape == (m, 2) and np.isfinite(chain.factors).all()
    assert chain.joints.shape == (m, 2)
    assert set(chain.joints[:, 0]) <= {0, 1} and set(chain.joints[:, 1]) <= set(range(n))
    for row in chain.offsets:
        R = row[:9].reshape(3, 3)
        assert np.abs(R @ R.T - np.eye(3)).max() < 1e-9
    assert not np.isnan(chain.lower).any() and not np.isnan(chain.upper).any()
    assert (chain.lower <= chain.upper).all() and (chain.velocity > 0.0).all()
    limited = np.isfinite(chain.lower) & np.isfinite(chain.upper)
    assert np.array_equal(limited, ~chain.continuous)
    assert np.isfinite(chain.middle).all()
    assert (chain.middle >= chain.lower).all() and (chain.middle <= chain.upper).all()


@pytest.mark.parametrize('text', [
    robot(joint(inside=AXIS + '<limit lower="-1e308" upper="1e308" velocity="1"/>')),
    mimics('', 'j0', 'j1').replace('joint="j', 'multiplier="1e200" joint="j'),
    mimics('', 'j0', 'j1').replace('joint="j', 'multiplier="1e-200" joint="j'),
    robot(joint(inside='<origin xyz="1e308 0 0"/>' + AXIS + LIMIT),
          joint('f', 'fixed', 'b', 'c', '<origin xyz="1e308 0 0"/>'),
          joint('g', 'fixed', 'c', 'd', '<origin xyz="1e308 0 0"/>'), links='abcd'),
    robot(joint(inside=AXIS.replace('1', '1e200') + LIMIT))])
def test_absurd_numbers_are_read_or_refused(text):
    """Numbers whose sums and products overflow give a valid chain or a refusal."""
    try:
        tree = parse_urdf(text)
        assert_valid(make_chain(tree, tree.root, tree.links[-1]))
    except IkNodeError as error:
        assert str(error)


@settings(derandomize=True, max_examples=MUTANTS, deadline=None,
          suppress_health_check=list(HealthCheck))
@given(mutants())
def test_mutants_are_read_or_refused(mutant):
    """A chain that keeps all invariants or an IkNodeError; nothing else, and soon."""
    name, text = mutant
    began = time.perf_counter()
    try:
        tree = parse_urdf(text)
        chains = []
        for base, tip in ((robots.ARMS[name].base, robots.ARMS[name].tip), (tree.root, '')):
            try:
                chains.append(make_chain(tree, base, tip))
            except IkNodeError as error:
                assert str(error)
        for chain in chains:
            assert_valid(chain)
    except IkNodeError as error:
        assert 10 < len(str(error)) < 1500 and '\n' not in str(error)
    assert time.perf_counter() - began < 2.0


@settings(derandomize=True, max_examples=300, deadline=None,
          suppress_health_check=list(HealthCheck))
@given(st.sampled_from(MUTATED), st.data())
def test_broken_bytes_are_read_or_refused(name, data):
    """A text cut short, or with bytes replaced, is a tree or a UrdfError."""
    text = bytearray(robots.text(name))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at:at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    if data.draw(st.booleans()):
        text = text[:data.draw(st.integers(0, len(text)))]
    try:
        parse_urdf(bytes(text))
    except UrdfError as error:
        assert str(error)


# ---- package:// -------------------------------------------------------------

@pytest.mark.fault('robot description', 'package:// of a package that is not installed',
                   'refused, the URI quoted as it was given')
@pytest.mark.parametrize('wrapped', [str, Path])
@pytest.mark.parametrize('package, cause', [('absent_robot', "'absent_robot' is not in"),
                                            ('my_robot', 'No such file')])
def test_a_package_that_cannot_be_resolved(package, cause, wrapped, tmp_path, monkeypatch):
    """The sentence quotes package:// with both slashes, as given, and says what to do."""
    (tmp_path / 'share/my_robot').mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    uri = f'package://{package}/urdf/arm.urdf'
    with pytest.raises(UrdfError) as caught:
        read_urdf(wrapped(uri))
    sentence = str(caught.value)
    assert f"'{uri}'" in sentence and cause in sentence and 'give the path' in sentence.lower()
