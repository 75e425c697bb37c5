# The agent as a container image, from what `npm run build` put into dist/. Nothing is downloaded but the base:
#
#   npm run build && docker build -t edge-agent .
#
# With --build-arg BASE=... any base with glibc, /bin/sh and readlink will do. The agent manages the machine's own
# engine and looks at the machine's own ports, so it gets the engine's socket and the machine's network:
#
#   docker run -d --name edge-agent --restart unless-stopped --network host \
#     -v /var/run/docker.sock:/var/run/docker.sock \
#     -v /etc/edge-agent:/etc/edge-agent:ro \
#     -v /var/lib/edge-agent:/var/lib/edge-agent \
#     edge-agent
ARG BASE=debian:stable-slim
FROM ${BASE}
COPY dist/lib/ /usr/lib/
COPY dist/node dist/edge-agent dist/edge-agent*.mjs /usr/local/bin/
ENTRYPOINT ["/usr/local/bin/edge-agent"]
CMD ["run", "--config", "/etc/edge-agent/config.json"]
