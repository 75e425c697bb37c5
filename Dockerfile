# The agent as a container image, from the output of `npm run build` in dist/. Only the base is downloaded; any base with
# glibc, /bin/sh and readlink works: --build-arg BASE=...
#
#   npm run build && docker build --tag edge-agent .
#
# It manages the host's engine and checks the host's ports, so it needs the engine's socket and the host's network. How to
# run it: docs/install.md.
ARG BASE=debian:stable-slim
FROM ${BASE}
COPY dist/lib/ /usr/lib/
COPY dist/node dist/edge-agent dist/edge-agent.*mjs /usr/local/bin/
# The agent keeps compiled code there, as under systemd.
ENV STATE_DIRECTORY=/var/lib/edge-agent
# Healthy if the agent responds on its socket: all is well (0) or something is wrong on the device (1).
HEALTHCHECK --interval=2m --timeout=20s --start-period=30s --retries=3 \
  CMD /usr/local/bin/edge-agent status >/dev/null; [ $? -le 1 ] || exit 1
ENTRYPOINT ["/usr/local/bin/edge-agent"]
CMD ["run", "--config", "/etc/edge-agent/config.json"]
