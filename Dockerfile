# The agent as a container image, from what `npm run build` put into dist/. Nothing is downloaded but the base, for which
# any with glibc, /bin/sh and readlink will do: --build-arg BASE=...
#
#   npm run build && docker build --tag edge-agent .
#
# It manages the machine's own engine and looks at the machine's own ports, so it gets the engine's socket and the
# machine's network. How to run it: docs/install.md.
ARG BASE=debian:stable-slim
FROM ${BASE}
COPY dist/lib/ /usr/lib/
COPY dist/node dist/edge-agent dist/edge-agent*.mjs /usr/local/bin/
# Healthy is an agent that answers on its socket, be all well (0) or something wrong on the device (1).
HEALTHCHECK --interval=2m --timeout=20s --start-period=30s --retries=3 \
  CMD /usr/local/bin/edge-agent status >/dev/null; [ $? -le 1 ] || exit 1
ENTRYPOINT ["/usr/local/bin/edge-agent"]
CMD ["run", "--config", "/etc/edge-agent/config.json"]
