/*
 * Texts of the manual page that do not come from the commands' own help.
 */

export const INTRODUCTION = `edge-agent runs container apps on a gateway and keeps them running, with or without a network. Its control plane
sends deployments over one connection that the device opens; the device itself listens on no port. systemd starts the
service with the command run. All other commands are for a person on the device: they talk to the service
through a unix socket, as root or as a member of the group edge-agent. Membership is equivalent to root, since members may
deploy any app. Members of the group edge-agent-read may use the read-only commands: status, apps, app, top, logs and
events.

Start with status, which shows whether all is well. doctor finds what is broken and what to do about it, app NAME why one
app does not run.`;

export const FILES: Readonly<Record<string, string>> = {
  "/etc/edge-agent/config.json":
    "The configuration. docs/configuration.md describes every key; config check validates it.",
  "/etc/edge-agent/token": "The token that identifies the device, as enroll stores it. Readable by the service only.",
  "/var/lib/edge-agent": "The agent's state: deployments, installed apps, events, the data it used.",
  "/var/log/edge-agent/agent.log":
    "The log, one JSON object per line, if no journal keeps it over a reboot; older files end in .1, .2 and so on.",
  "/run/edge-agent/agent.sock": "The socket for all commands, for the group edge-agent.",
  "/run/edge-agent/agent-read.sock": "The socket for read-only commands, for the group edge-agent-read.",
};

export const VARIABLES: Readonly<Record<string, string>> = {
  "https_proxy, http_proxy, no_proxy": "The proxy for the control plane and registries, and the hosts that need none.",
  DOCKER_HOST: "The socket of the container engine, if the value begins with unix:// and the configuration names none.",
  NO_COLOR: "No colours, also on a terminal.",
};

export const SIGNALS: Readonly<Record<string, string>> = {
  "SIGTERM, SIGINT": "The service stops. The apps keep running.",
  SIGHUP: "The service reads its configuration again, applies what it can, and logs which settings need a restart.",
};

export const JOURNAL = `Each line of the service's log has searchable fields:

  journalctl -u edge-agent -p warning
  journalctl EDGE_APP=node-red
  journalctl EDGE_DEPLOYMENT=dep_0123456789abcdef
  journalctl EDGE_CODE=ImagePullBackOff

The fields are EDGE_APP, EDGE_DEPLOYMENT, EDGE_STEP, EDGE_STATUS, EDGE_CODE and, for every other field of a line, EDGE_
and its name in capital letters.`;

export const SEE_ALSO = `systemctl(1), journalctl(1), docker(1), podman(1)

The field guide docs/technician.md, and docs/errors.md for what each code means.`;
