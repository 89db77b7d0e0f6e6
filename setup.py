"""Package ik_node: built by colcon (ament_python) or installed by pip."""

from glob import glob
from pathlib import Path
import xml.etree.ElementTree as ET

from setuptools import find_packages, setup

package_name = 'ik_node'
# Who and where is said in package.xml alone.
MANIFEST = ET.parse('package.xml').getroot()
URLS = {url.get('type'): url.text for url in MANIFEST.iter('url')}


def person(role):
    """Return name and email of the author or the maintainer."""
    element = MANIFEST.find(role)
    return {role: element.text, f'{role}_email': element.get('email')}


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
        (f'share/{package_name}/config', glob('config/*.*')),
        (f'share/{package_name}/config/arms', glob('config/arms/*')),
        (f'share/{package_name}/config/robots', glob('config/robots/*')),
        (f'share/{package_name}/urdf', glob('urdf/*')),
        (f'share/{package_name}/examples', glob('examples/*')),
    ],
    # The library without ROS.  On a ROS machine these come by rosdep; ruckig, by pip, is optional.
    install_requires=['setuptools', 'numpy', 'numba', 'lxml', 'urdfdom-py', 'transforms3d',
                      'ruckig', 'pyyaml'],
    extras_require={
        # The node and its commands where no ROS is installed: Linux on x86-64.
        'ros': ['ros-jazzy-rclpy', 'ros-jazzy-rmw-fastrtps-cpp', 'ros-jazzy-common-interfaces',
                'pyyaml', 'xacro'],
        'viewer': ['viser', 'pycollada'],
        'handheld': ['websockets>=14', 'qrcode'],
        'collision': ['scipy', 'trimesh', 'pycollada', 'pyyaml'],
        'compare': ['matplotlib', 'scipy'],
        'learn': ['scikit-learn'],
        'plot': ['matplotlib', 'pyyaml'],
        'cluster': ['distributed'],
        'physics': ['mujoco'],
        'test': ['pytest', 'hypothesis'],
    },
    python_requires='>=3.10',
    zip_safe=True,
    **person('author'),
    **person('maintainer'),
    description='Publish a goal pose and the arm goes there: inverse kinematics from any URDF',
    long_description=Path('README.md').read_text(encoding='utf-8')
    if Path('README.md').exists() else '',
    long_description_content_type='text/markdown',
    license='Apache-2.0',
    url=URLS['website'],
    project_urls={'Source': URLS['repository'], 'Bug tracker': URLS['bugtracker']},
    keywords=['ROS', 'robotics', 'inverse kinematics', 'motion planning', 'manipulator'],
    classifiers=[
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in range(10, 15)),
        'Topic :: Scientific/Engineering',
        'Typing :: Typed',
    ],
    entry_points={
        'console_scripts': [
            'ik_node = ik_node.tools.entry:ik_node',
            'ik_arms = ik_node.tools.entry:ik_arms',
            'sim_controller = ik_node.tools.entry:sim_controller',
            'ik_viewer = ik_node.tools.entry:viewer',
            'ik_handheld = ik_node.tools.entry:handheld',
            'interactive_goal = ik_node.tools.entry:interactive_goal',
            'send_goal = ik_node.tools.entry:send_goal',
            'ik_jog = ik_node.tools.entry:jog',
            'ik_teach = ik_node.tools.entry:teach',
            'ik_demo = ik_node.tools.entry:demo',
            'ik_doctor = ik_node.tools.entry:ik_doctor',
            'ik_replay = ik_node.tools.entry:replay',
            'compare_methods = ik_node.tools.entry:compare_methods',
            'plot_trajectory = ik_node.tools.entry:plot_trajectory',
            'ik_workspace = ik_node.tools.entry:workspace',
        ],
    },
)
