// Prints what the agent leaves on this device: one line for each app, with its container, its state and the directories
// of its data; then one for each volume and each network. Asks the container engine, so it works without the agent;
// prints nothing if no engine responds within 5 s.
import { existsSync } from "node:fs";
import { request } from "node:http";

const SOCKETS = ["/var/run/docker.sock", "/run/podman/podman.sock"];
const APP = "io.edge-agent.app";
const VOLUME = "io.edge-agent.volume";
const NETWORK = "io.edge-agent.network";

const MAX_LINE_LENGTH = 1_000;
const STATE_DIR_LABEL = "io.edge-agent.state-dir";

const [socketPath = SOCKETS.find((path) => existsSync(path)), stateDir = "/var/lib/edge-agent"] = process.argv.slice(2);
if (socketPath !== undefined) {
  const [containers, volumes, networks] = await Promise.all([
    list("/containers/json", APP, `${STATE_DIR_LABEL}=${stateDir}`),
    list("/volumes", VOLUME, `${STATE_DIR_LABEL}=${stateDir}`),
    list("/networks", NETWORK, `${STATE_DIR_LABEL}=${stateDir}`),
  ]);
  const lines = [
    ...containers.map(describeApp),
    ...(volumes.Volumes ?? []).map(
      ({ Name, Labels }) => `volume ${Labels[VOLUME]} with its data (of the engine: ${Name})`,
    ),
    ...networks.map(({ Name }) => `network ${Name}`),
  ];
  for (const line of lines) process.stdout.write(`${printable(line)}\n`);
}

/** For root's terminal: labels and paths come from images and from users of the engine. */
function printable(line) {
  return line.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "\u{fffd}").slice(0, MAX_LINE_LENGTH);
}

/** Lists the engine's objects with these labels; none if the engine does not respond. */
async function list(path, ...labels) {
  const query = new URLSearchParams({ all: "1", filters: JSON.stringify({ label: labels }) });
  return await new Promise((resolve) => {
    const none = () => resolve([]);
    request({ socketPath, path: `${path}?${query}`, timeout: 5_000 }, async (response) => {
      const chunks = await response.toArray();
      if (response.statusCode === 200) resolve(JSON.parse(Buffer.concat(chunks).toString()));
      else none();
    })
      .on("timeout", function stop() {
        this.destroy();
        none();
      })
      .on("error", none)
      .end();
  });
}

function describeApp({ Names, State, Labels, Mounts }) {
  const sources = Mounts.filter(({ Type }) => Type !== "volume").map(({ Source }) => Source);
  const data = sources.filter((source) => source && !isOwnFile(source));
  const volumes = Mounts.filter(({ Type }) => Type === "volume").map(({ Name }) => Name);
  const facts = [
    `container ${Names[0].replace("/", "")}`,
    State,
    ...(data.length > 0 ? [`data in ${data.join(", ")}`] : []),
    ...(volumes.length > 0 ? [`volumes ${volumes.join(", ")}`] : []),
    // They are gone after a purge, and the engine starts no container without them.
    ...(sources.some(isOwnFile) ? [`needs its files in ${stateDir}`] : []),
  ];
  return `${Labels[APP]} (${facts.join(", ")})`;
}

function isOwnFile(source) {
  return source?.startsWith(`${stateDir}/files/`) ?? false;
}
