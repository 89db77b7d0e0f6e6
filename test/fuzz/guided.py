# Copyright 2026 The ik_node authors
# SPDX-License-Identifier: Apache-2.0
"""
Coverage-guided fuzzing, by atheris, of what reads a robot description and the poses of messages.

``PYTHONPATH=.:test python -m fuzz.guided SECONDS [FOLDER]`` keeps its corpus in the folder.  It
ends with code 0 if nothing but a chain or an IkNodeError came of any input, and was soon there.
"""

from pathlib import Path
import struct
import sys
from tempfile import mkdtemp

from geometry_msgs.msg import Point, Pose, Quaternion
import numpy as np

try:
    import atheris
except ImportError:
    sys.exit('make fuzz needs atheris, which has no wheel for this Python or machine: use '
             'Python 3.11 to 3.13 on x86-64 Linux')

with atheris.instrument_imports(include=[
        'ik_node.model', 'ik_node.base.se3', 'ik_node.ros.messages.conversion',
        'ik_node.ros.messages.conversion', 'urdf_parser_py']):
    from ik_node.base.errors import IkNodeError
    from ik_node.model.chain import make_chain
    from ik_node.model.description.shapes import link_shapes
    from ik_node.model.description.urdf import parse_urdf
    from ik_node.ros.messages.conversion import matrix_from_pose

SLOW = 60  # s for one input; on the wall, also if other work has the machine
LARGEST = 30_000  # bytes of one input
NUMBERS = struct.Struct('<7d')
OWN = Path(__file__).parents[2] / 'urdf'
SMALL = '''<?xml version="1.0"?><robot name="r"><link name="a"><visual><origin xyz="0 0 1"/>
<geometry><mesh filename="package://p/m.stl" scale="1 1 1"/></geometry></visual><collision>
<geometry><cylinder radius="1" length="2"/></geometry></collision></link><link name="b"/>
<link name="c"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/>
<origin xyz="0 0 1" rpy="0 1 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="3"
velocity="4"/><safety_controller soft_lower_limit="-1" soft_upper_limit="1" k_velocity="1"/>
</joint><joint name="k" type="prismatic"><parent link="b"/><child link="c"/><limit lower="0"
upper="1" effort="1" velocity="1"/><mimic joint="j" multiplier="2" offset="1"/></joint></robot>'''


def look(data):
    """Read one input; whatever is raised but an IkNodeError ends the run."""
    try:
        tree = parse_urdf(data)
        for kind in ('visual', 'collision'):
            link_shapes(tree, kind)
        chain = make_chain(tree, '', '')
        assert np.isfinite(chain.offsets).all() and (chain.lower <= chain.upper).all()
    except IkNodeError as error:
        assert str(error).isprintable(), str(error)
    if len(data) >= NUMBERS.size:
        x, y, z, *turn = NUMBERS.unpack(data[:NUMBERS.size])
        a, b, c, d = turn
        try:
            T = matrix_from_pose(Pose(position=Point(x=x, y=y, z=z),
                                      orientation=Quaternion(x=a, y=b, z=c, w=d)))
            assert np.isfinite(T).all()
        except IkNodeError as error:
            assert str(error).isprintable(), str(error)


def main():
    """Run so many seconds."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 900
    corpus = Path(sys.argv[2] if len(sys.argv) > 2 else mkdtemp())
    corpus.mkdir(parents=True, exist_ok=True)
    for encoding in ('utf-8', 'utf-16', 'latin-1'):
        (corpus / f'small_{encoding}').write_bytes(SMALL.encode(encoding))
    (corpus / 'pose').write_bytes(NUMBERS.pack(0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0))
    for file in OWN.glob('*.urdf'):
        (corpus / file.name).write_bytes(file.read_bytes()[:LARGEST])
    words = corpus.parent / 'urdf_words.txt'
    words.write_text('\n'.join(f'"{word}"' for word in (
        '<!DOCTYPE', '<!ENTITY', '<![CDATA[', '<robot', '<link', '<joint', '<mimic', '<limit',
        'revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar', 'name=', 'type=',
        'xyz=', 'rpy=', 'lower=', 'upper=', 'velocity=', 'nan', 'inf', '1e308', '1e-320',
        'encoding=', 'utf-7', 'utf-32', '&#0;', '&lt;', 'package://', '../', 'xacro:', '${')))
    atheris.Setup([sys.argv[0], str(corpus), f'-max_total_time={seconds}', f'-timeout={SLOW}',
                   f'-max_len={LARGEST}', f'-dict={words}', '-print_final_stats=1',
                   '-rss_limit_mb=2048', f'-artifact_prefix={corpus.parent}/'], look)
    atheris.Fuzz()


if __name__ == '__main__':
    main()
