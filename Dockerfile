# docker build -t ik_node .
# docker run --rm --network host ik_node                          the node
# docker run --rm ik_node ros2 run ik_node ik_demo                the demonstration
ARG ROS_DISTRO=jazzy
FROM ros:${ROS_DISTRO}-ros-base

SHELL ["/bin/bash", "-c"]
WORKDIR /ws
RUN apt-get update && apt-get install -y --no-install-recommends python3-venv \
  && rm -rf /var/lib/apt/lists/*

# What changes seldom first: the dependencies, without RViz.
COPY package.xml requirements.txt src/ik_node/
RUN apt-get update && rosdep update --rosdistro "$ROS_DISTRO" \
  && rosdep install --from-paths src --ignore-src -y --dependency-types exec --skip-keys rviz2 \
  && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv --system-site-packages pip \
  && pip/bin/python -m pip install --no-cache-dir -r src/ik_node/requirements.txt

COPY . src/ik_node
# By the interpreter of the environment, which the scripts then name in their first line.
RUN source "/opt/ros/$ROS_DISTRO/setup.bash" \
  && pip/bin/python /usr/bin/colcon build --packages-select ik_node

RUN sed -i '$i source /ws/install/setup.bash' /ros_entrypoint.sh
CMD ["ros2", "run", "ik_node", "ik_node"]
