"""Package ik_node: built by colcon (ament_python) or installed by pip."""

from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

package_name = 'ik_node'

setup(
    name=package_name,
    version='0.1.0',
    packages=find_packages(include=[package_name, f'{package_name}.*']),
    package_data={package_name: ['py.typed'],
                  f'{package_name}.ui.handheld': ['page/*']},
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{package_name}']),
        (f'share/{package_name}', ['package.xml']),
        (f'share/{package_name}/launch', glob('launch/*.launch.py')),
        (f'share/{package_name}/config', glob('config/*')),
        (f'share/{package_name}/urdf', glob('urdf/*')),
        (f'share/{package_name}/examples', glob('examples/*')),
    ],
    # The library without ROS.  On a ROS machine these come by rosdep, ruckig by pip.
    install_requires=['setuptools', 'numpy', 'numba', 'lxml', 'urdfdom-py', 'transforms3d',
                      'ruckig'],
    extras_require={
        'viewer': ['viser', 'pycollada'],
        'handheld': ['websockets>=14', 'qrcode'],
        'collision': ['scipy', 'trimesh', 'pycollada', 'pyyaml'],
        'compare': ['matplotlib', 'scipy'],
        'plot': ['matplotlib', 'pyyaml'],
        'cluster': ['distributed'],
        'physics': ['mujoco'],
        'test': ['pytest', 'pytest-rerunfailures', 'hypothesis'],
    },
    python_requires='>=3.10',
    zip_safe=True,
    maintainer='The ik_node authors',
    maintainer_email='ik-node@example.org',
    description='Publish a goal pose and the arm goes there: inverse kinematics from any URDF',
    long_description=Path('README.md').read_text(encoding='utf-8')
    if Path('README.md').exists() else '',
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    entry_points={
        'console_scripts': [
            'ik_node = ik_node.entry:ik_node',
            'sim_controller = ik_node.entry:sim_controller',
            'ik_viewer = ik_node.entry:viewer',
            'ik_handheld = ik_node.entry:handheld',
            'interactive_goal = ik_node.entry:interactive_goal',
            'send_goal = ik_node.entry:send_goal',
            'ik_jog = ik_node.entry:jog',
            'ik_teach = ik_node.entry:teach',
            'ik_demo = ik_node.entry:demo',
            'ik_doctor = ik_node.entry:ik_doctor',
            'ik_replay = ik_node.entry:replay',
            'compare_methods = ik_node.entry:compare_methods',
            'plot_trajectory = ik_node.entry:plot_trajectory',
            'ik_workspace = ik_node.entry:workspace',
        ],
    },
)
