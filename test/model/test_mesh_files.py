# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""Which file a mesh's URI names, and that it never names one outside the folders allowed."""

import os
from pathlib import Path

from hypothesis import example, given, strategies as st
import pytest
import robots

from ik_node.kinematics.arm import load_urdf
from ik_node.model.description import mesh_files
from ik_node.model.description.mesh_files import mesh_search, resolve
from ik_node.model.description.shapes import link_shapes
from ik_node.model.description.urdf import parse_urdf, read_urdf

DATA = b'solid x\nendsolid x\n'
URDF = b'<robot name="r">' + b''.join(b'<link name="l%d"/>' % k for k in range(4)) + b''.join(
    b'<joint name="j%d" type="revolute"><parent link="l%d"/><child link="l%d"/><axis xyz="0 0 1"/>'
    b'<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>' % (k, k, k + 1)
    for k in range(3)) + b'</robot>'


def put(path: Path, data: bytes = DATA) -> Path:
    """Write a file, with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def install(prefix: Path, name: str) -> Path:
    """Make a package as ament installs it; return its share folder."""
    put(prefix / 'share/ament_index/resource_index/packages' / name, b'')
    share = prefix / 'share' / name
    put(share / 'package.xml', f'<package><name>{name}</name></package>'.encode())
    return share


@pytest.fixture(autouse=True)
def no_index(monkeypatch):
    """No package of this machine takes part."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)


def found(uri, *args, **kwargs):
    """Return the file that is found."""
    path, reason = resolve(uri, *args, **kwargs)
    assert path is not None, reason
    assert reason == ''
    return path


def refused(uri, *words, **kwargs):
    """Check that nothing is found, and what is said."""
    path, reason = resolve(uri, **kwargs)
    assert path is None
    assert reason.startswith('the mesh ') and '\n' not in reason and len(reason) < 1000
    for word in words:
        assert word in reason, reason


# ---- where it is looked for -------------------------------------------------

def test_package_in_the_ament_index(tmp_path, monkeypatch):
    """All prefixes are searched in order; a folder without an index entry is no package."""
    one, two = tmp_path / 'one', tmp_path / 'two'
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{one}:{tmp_path / "absent"}::{two}')
    mesh = put(install(two, 'arm') / 'meshes/a.stl')
    put(one / 'share/arm/meshes/a.stl', b'not marked in the index')
    assert found('package://arm/meshes/a.stl') == mesh
    first = put(install(one, 'arm') / 'meshes/a.stl')
    assert found('package://arm/meshes/a.stl') == first
    refused('package://leg/meshes/a.stl', "'leg'", 'ament index', 'source', 'mesh_paths')


def test_search_paths_come_first(tmp_path, monkeypatch):
    """A search path contains packages, or what follows the package name."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'ros'))
    installed = put(install(tmp_path / 'ros', 'arm') / 'a.stl')
    named, rest = put(tmp_path / 'src/arm/a.stl'), put(tmp_path / 'rest/a.stl')
    uri = 'package://arm/a.stl'
    assert found(uri, [tmp_path / 'src']) == named
    assert found(uri, [str(tmp_path / 'rest')]) == rest
    assert found(uri, [tmp_path / 'rest', tmp_path / 'src']) == rest
    assert found(uri, [tmp_path / 'rest/urdf/..']) == rest  # as one writes it in a shell
    assert found(uri, [tmp_path / 'absent']) == installed
    assert found('a.stl', [tmp_path / 'rest']) == rest


def test_the_folder_of_the_urdf(tmp_path):
    """A relative path starts at the URDF and stays in its package, or beside the folder urdf/."""
    mesh, urdf = put(tmp_path / 'arm/meshes/a.stl'), tmp_path / 'arm/urdf'
    assert found('../meshes/a.stl', urdf_folder=urdf) == mesh
    refused('../meshes/a.stl', 'came without a folder')
    refused('../meshes/a.stl', 'lies outside', urdf_folder=tmp_path / 'arm/other')
    deep = tmp_path / 'arm/urdf/variants'
    refused('../../meshes/a.stl', 'lies outside', urdf_folder=deep)
    put(tmp_path / 'arm/package.xml', b'<package><name>arm</name></package>')
    assert found('../../meshes/a.stl', urdf_folder=deep) == mesh
    put(tmp_path / 'b.stl')
    refused('../../b.stl', 'lies outside', urdf_folder=urdf)


@pytest.mark.parametrize('named', ['arm', 'arm/meshes'])
def test_a_way_up_into_a_folder_that_is_named(tmp_path, named):
    """It is allowed what the sentence says, from the URDF, and of a URDF that came as text."""
    mesh, urdf = put(tmp_path / 'arm/meshes/a.stl'), tmp_path / 'arm/other/deep'
    put(tmp_path / 'arm/secret.stl')
    uri, paths = '../../meshes/a.stl', {'search_paths': [tmp_path / named]}
    hint = "; name the folder that has 'meshes/a.stl' in mesh_paths"
    refused(uri, 'lies outside', hint, urdf_folder=urdf)
    refused(uri, 'came without a folder', hint)
    assert found(uri, urdf_folder=urdf, **paths) == mesh
    if named == 'arm':
        assert found(uri, **paths) == found('.././../meshes//a.stl', **paths) == mesh
    else:
        refused(uri, 'is missing', hint, **paths)
        refused('../../secret.stl', urdf_folder=urdf, **paths)
    refused('../../../arm2/a.stl', urdf_folder=urdf, **paths)


def test_its_own_package_comes_before_what_is_installed(tmp_path, monkeypatch):
    """As of a checkout that is newer; mesh_paths come before both, and an empty one is none."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'ros'))
    installed = put(install(tmp_path / 'ros', 'arm') / 'a.stl')
    own, urdf = put(tmp_path / 'src/arm/a.stl'), put(tmp_path / 'src/arm/urdf/a.urdf', URDF)
    named = put(tmp_path / 'named/a.stl')
    tree = read_urdf(urdf)
    monkeypatch.chdir(named.parent)
    for search, expected in ((mesh_search(tree), own), (mesh_search(tree, ['']), own),
                             (mesh_search(tree, [str(named.parent)]), named),
                             (mesh_search(parse_urdf(URDF)), installed),
                             (mesh_search(parse_urdf(URDF), ['']), installed)):
        assert search('package://arm/a.stl') == (expected, '')


def test_where_a_description_was_read(tmp_path, monkeypatch):
    """The tree knows it, by whatever name the file was given; a text is from nowhere."""
    urdf = put(tmp_path / 'arm/urdf/a.urdf', URDF)
    monkeypatch.chdir(urdf.parent)
    for name in ('a.urdf', str(urdf), urdf, f'file://{urdf}'):
        assert read_urdf(name).folder == urdf.parent
        assert load_urdf(name).tree.folder == urdf.parent
    assert parse_urdf(URDF).folder is None


def test_a_checkout(tmp_path):
    """A parent folder of the URDF is the package, by its name or by its package.xml."""
    mesh = put(tmp_path / 'arm/meshes/a.stl')
    folder = tmp_path / 'arm/urdf'
    assert found('package://arm/meshes/a.stl', urdf_folder=folder) == mesh
    refused('package://arm_description/meshes/a.stl', "'arm_description'", urdf_folder=folder)
    put(tmp_path / 'arm/package.xml', b'<package>\n <name> arm_description </name></package>')
    assert found('package://arm_description/meshes/a.stl', urdf_folder=folder) == mesh
    put(tmp_path / 'arm/package.xml', b'\xff\xfe rubbish')
    refused('package://arm_description/meshes/a.stl', "'arm_description'", urdf_folder=folder)


@pytest.mark.parametrize('form', ['file://{}', 'file://localhost{}', 'file:{}', 'FILE://{}', '{}',
                                  'file:///{}'])
def test_absolute(tmp_path, form):
    """An absolute path names a mesh anywhere, as xacro writes it; nothing that is no mesh."""
    mesh = put(tmp_path / 'share/arm/a b%20c.stl')
    uri = form.format(str(mesh))
    for folders in ({}, {'urdf_folder': tmp_path / 'other'}, {'search_paths': [tmp_path]}):
        assert found(uri, **folders) == mesh
    assert found(form.format(f'{tmp_path}/share/urdf/../arm/a b%20c.stl')) == mesh
    refused(form.format(tmp_path / 'none.stl'), 'is missing', 'there is no')
    assert 'mesh_paths' not in resolve(form.format(tmp_path / 'none.stl'))[1]  # it changes nothing
    refused(form.format(put(tmp_path / 'passwd')), 'no mesh by its name')
    (tmp_path / 'folder.stl').mkdir()
    refused(form.format(tmp_path / 'folder.stl'), 'is no file')
    refused(form.format(put(tmp_path / 'empty.stl', b'')), 'empty')


def test_percent_encoding(tmp_path):
    """A URI may be percent-encoded; the literal name comes first; a plain path is not decoded."""
    blank = put(tmp_path / 'ä b.stl')
    assert found(f'file://{tmp_path}/%C3%A4%20b.stl', [tmp_path]) == blank
    assert found('package://p/%c3%a4%20b.stl', [tmp_path]) == blank
    refused('%C3%A4%20b.stl', search_paths=[tmp_path])
    literal = put(tmp_path / '%C3%A4%20b.stl')
    assert found(f'file://{tmp_path}/%C3%A4%20b.stl', [tmp_path]) == literal
    assert found('%C3%A4%20b.stl', [tmp_path]) == literal
    odd = put(tmp_path / 'a#b?c&d:e.stl')
    assert found('package://p/a#b?c&d:e.stl', [tmp_path]) == odd


@pytest.mark.parametrize('name', ['ur5', 'ur10', 'panda', 'xarm7', 'baxter'])
def test_real_robots(name, tmp_path, monkeypatch):
    """All meshes of real arms are found: by checkout, by search path, by ament index."""
    arm = robots.ARMS[name].path
    tree = read_urdf(arm)
    uris = {shape.uri for element in ('visual', 'collision')
            for shapes in link_shapes(tree, element).values() for shape in shapes if shape.uri}
    assert len(uris) >= 8 and all(uri.startswith('package://example-robot-data') for uri in uris)
    root = robots.REAL.parent
    expected = {uri: root / uri.removeprefix('package://example-robot-data/') for uri in uris}
    for uri, path in expected.items():
        refused(uri, "'example-robot-data'")
        assert found(uri, urdf_folder=arm.parent) == path
        assert found(uri, [root]) == found(uri, [root.parent]) == path
    prefix = tmp_path / 'ros'
    put(prefix / 'share/ament_index/resource_index/packages/example-robot-data', b'')
    (prefix / 'share/example-robot-data').symlink_to(root)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(prefix))
    for uri, path in expected.items():
        assert found(uri).samefile(path)


# ---- what is refused --------------------------------------------------------

@pytest.mark.parametrize('rest', [
    '../secret.stl', 'meshes/../../secret.stl', '%2e%2e/secret.stl', '..%2fsecret.stl',
    './.././secret.stl', '/../secret.stl', '%2Fsecret.stl/../../secret.stl', '..//secret.stl'])
def test_no_way_out(tmp_path, monkeypatch, rest):
    """No form of `..` leaves the package, the search path or the folder of the URDF."""
    put(tmp_path / 'share/secret.stl')
    put(tmp_path / 'share/arm/meshes/a.stl')
    install(tmp_path, 'arm')
    share = tmp_path / 'share/arm'
    uri = f'package://arm/{rest}'
    for folders in ({'search_paths': [share]}, {'urdf_folder': share}):
        refused(uri, '' if '%' in rest else 'lies outside', **folders)
        assert rest.startswith('/') or resolve(rest, **folders)[0] is None
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    refused(uri)
    assert found('package://arm/meshes/../meshes/a.stl') == share / 'meshes/a.stl'


@pytest.mark.parametrize('uri', ['package://../arm/a.stl', 'package://./a.stl', 'package:///',
                                 'package://', 'package:////'])
def test_a_package_needs_a_name(uri, tmp_path):
    """`..` is not a package name."""
    put(tmp_path / 'arm/a.stl')
    (tmp_path / 'src').mkdir()
    refused(uri, 'package', search_paths=[tmp_path / 'src'])


def test_links_are_followed(tmp_path, monkeypatch):
    """`colcon build --symlink-install` makes links that lead out of the share folder."""
    mesh = put(tmp_path / 'src/a.stl')
    share = install(tmp_path, 'arm')
    (share / 'a.stl').symlink_to(mesh)
    (share / 'meshes').symlink_to(mesh.parent)
    (share / 'ring.stl').symlink_to(share / 'ring.stl')
    (share / 'gone.stl').symlink_to(tmp_path / 'gone.stl')
    put(tmp_path / 'b.stl')
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    assert found('package://arm/a.stl').samefile(mesh)
    assert found('package://arm/meshes/a.stl').samefile(mesh)
    refused('package://arm/meshes/../../../b.stl', 'lies outside')
    refused('package://arm/meshes/../b.stl', 'missing')  # not beside what the link leads to
    refused('package://arm/ring.stl', 'cannot be read')
    refused('package://arm/gone.stl', 'missing')


def test_files_without_a_mesh_are_refused(tmp_path, monkeypatch):
    """Folders, pipes, empty and huge files, LFS pointers and other formats are each refused."""
    (tmp_path / 'folder.stl').mkdir()
    os.mkfifo(tmp_path / 'pipe.stl')
    put(tmp_path / 'empty.stl', b'')
    put(tmp_path / 'pointer.stl', b'version https://git-lfs.github.com/spec/v1\noid sha256:0\n')
    put(tmp_path / 'passwd')
    here = {'search_paths': [tmp_path]}
    refused('folder.stl', 'is no file', **here)
    refused('pipe.stl', 'is no file', **here)
    refused('empty.stl', 'empty', **here)
    refused('pointer.stl', 'git lfs pull', **here)
    refused('passwd', 'no mesh by its name', '.stl', **here)
    monkeypatch.setattr(mesh_files, 'MAX_MESH_BYTES', len(DATA))
    assert found('a.stl', [put(tmp_path / 'a.stl').parent])
    put(tmp_path / 'a.stl', DATA + b' ')
    refused('a.stl', 'MiB', **here)


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16'])
def test_document_types(tmp_path, encoding):
    """A .dae with a document type, whose entities could expand without end, is not read."""
    laughs = ('<?xml version="1.0"?><!-- x --><!DOCTYPE COLLADA [<!ENTITY a "ha">'
              '<!ENTITY b "&a;&a;">]><COLLADA>&b;</COLLADA>')
    put(tmp_path / 'arm.dae', laughs.encode(encoding))
    put(tmp_path / 'ARM.DAE', laughs.encode(encoding))
    put(tmp_path / 'good.dae', '<?xml version="1.0"?><COLLADA/>'.encode(encoding))
    put(tmp_path / 'broken.dae', b'\xff\xfe\x00<')
    refused('arm.dae', 'document type', search_paths=[tmp_path])
    refused('ARM.DAE', 'document type', search_paths=[tmp_path])
    assert found('good.dae', [tmp_path]) and found('broken.dae', [tmp_path])


@pytest.mark.skipif(os.geteuid() == 0, reason='root may read everything')
def test_unreadable(tmp_path):
    """A file without read permission is reported as such."""
    put(tmp_path / 'a.stl').chmod(0)
    refused('a.stl', 'cannot be read: Permission denied', search_paths=[tmp_path])


def test_hints(tmp_path):
    """The message tells of files in other case, remote hosts, schemes and too long names."""
    put(tmp_path / 'Mesh.STL')
    here = {'search_paths': [tmp_path]}
    assert found('Mesh.STL', [tmp_path])
    refused('mesh.stl', "but 'Mesh.STL'", **here)
    refused('file://server/mesh.stl', "'server'", **here)
    refused('http://server/mesh.stl', "'http'", **here)
    refused('model://arm/mesh.stl', "'model'", **here)
    refused('a\0.stl', 'NUL', **here)
    refused('package://p/a%00.stl', 'NUL', **here)
    refused('', **here)
    refused('x' * 300 + '.stl', 'too long', **here)
    refused('x' * 2000 + '.stl', 'more than 1000', **here)
    refused('\ud800.stl', 'missing', **here)


PARTS = st.sampled_from(['..', '.', '/', '//', '%2e%2e', '%2f', 'in', 'arm', 'a.stl', 'secret.stl',
                         'package://', 'file://', 'file:', 'localhost', 'link', '~', '\0', '%00',
                         '\\', 'ä', '\udc80', '#', '?', ' '])


@pytest.fixture(scope='module')
def world(tmp_path_factory):
    """Give a folder with a mesh inside what is allowed, and one outside."""
    root = tmp_path_factory.mktemp('world')
    put(root / 'secret.stl')
    put(root / 'in/arm/a.stl')
    (root / 'in/arm/link').symlink_to(root / 'in/arm')
    return root


@given(st.one_of(st.lists(PARTS, max_size=10).map(''.join),
                 st.lists(PARTS, max_size=10).map('/'.join), st.text(max_size=40)))
@example('package://arm/a.stl')
@example('../secret.stl')
@example('file:///in/arm/../../secret.stl')
def test_any_uri(world, uri):
    """Any URI gives a sentence or a file in an allowed folder; an absolute one names its mesh."""
    inside = world / 'in'
    for text in (uri, uri.replace('/in', f'{inside}')):
        for folders in ({'search_paths': [inside]}, {'urdf_folder': inside / 'arm'}):
            path, reason = resolve(text, **folders)
            if path is None:
                assert reason.startswith('the mesh ')
            else:
                assert path.is_file() and path.suffix == '.stl'
                absolute = text.startswith('/') or text[:6].lower() == 'file:/'
                assert absolute or path.resolve().is_relative_to(inside)
