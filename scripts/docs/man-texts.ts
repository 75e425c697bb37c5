/*
 * Texts of the manual page that are not generated from the commands.
 */

export const INTRODUCTION = `edge-agent runs container apps on a gateway and keeps them running, with or without a network. Its control plane
sends deployments over one connection that the device opens; the device itself listens on no port. As a service it is
started by systemd with the command run. All other commands are for a person on the device: they speak to the service
through a unix socket, as root or as a member of the group edge-agent, whose members have all rights on the device, since
they may deploy any app. A member of the group edge-agent-read may use the commands that only read: status, apps, app, top,
logs and events.

Where to begin: status shows whether all is well, doctor what is broken and how to repair it, app NAME why an app does not
run.`;

export const FILES: Readonly<Record<string, string>> = {
  "/etc/edge-agent/config.json":
    "The configuration. docs/configuration.md describes every key; config check validates the file.",
  "/etc/edge-agent/token": "The token that identifies the device, as enroll stores it. Readable by the service only.",
  "/var/lib/edge-agent": "The agent's state: deployments, installed apps, events, data usage.",
  "/var/log/edge-agent/agent.log":
    "The log, one JSON object a line, on systems whose journal does not survive a reboot; older files end in .1, .2 and so on.",
  "/run/edge-agent/agent.sock": "The socket for the commands on the device, for the group edge-agent.",
  "/run/edge-agent/agent-read.sock": "The socket for commands that only read, for the group edge-agent-read.",
};

export const VARIABLES: Readonly<Record<string, string>> = {
  "https_proxy, http_proxy, no_proxy": "The proxy to the control plane and to registries, and which hosts need none.",
  DOCKER_HOST: "The socket of the container engine, if it begins with unix:// and the configuration names none.",
  NO_COLOR: "No colours, also on a terminal.",
};

export const SIGNALS: Readonly<Record<string, string>> = {
  "SIGTERM, SIGINT": "The service stops. The apps keep running.",
  SIGHUP: "The service reads its configuration again, applies what it can, and logs what needs a restart.",
};

export const JOURNAL = `Each line of the service's log has fields to search by:

  journalctl -u edge-agent -p warning
  journalctl EDGE_APP=node-red
  journalctl EDGE_DEPLOYMENT=dep_0123456789abcdef
  journalctl EDGE_CODE=ImagePullBackOff

The fields are EDGE_APP, EDGE_DEPLOYMENT, EDGE_STEP, EDGE_STATUS, EDGE_CODE and, for every other field of a line, EDGE_
and its name in capital letters.`;

export const SEE_ALSO = `systemctl(1), journalctl(1), docker(1), podman(1)

The field guide docs/technician.md, and docs/errors.md for what each code means.`;
