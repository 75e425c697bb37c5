import { statSync } from "node:fs";
import { errorText } from "../../../lib/error-text.ts";
import { engineDifferences, oldEngine } from "../../core/deployment/engine-differences.ts";
import { capitalize } from "../../core/text.ts";
import { bad, good, type Probe, type ProbeContext, settingsOf, warning } from "../probe.ts";

/** Where Docker listens, unless the configuration says otherwise. */
const DOCKER_SOCKET = "/run/docker.sock";

/** The container engine responds and its version is supported. */
export const probeEngine: Probe = async (context, signal) => {
  try {
    const info = await context.engine.info(signal);
    const { kind, version } = info;
    const old = oldEngine(kind, version);
    if (old) return bad(old.text, old.next);
    const differs = engineDifferences(info);
    const name = `${info.isRootless ? "rootless " : ""}${kind} ${version}`;
    const text = [`${name} answers.`, ...differs.map(({ text: difference }) => difference)].join(" ");
    return differs.some(({ id }) => id === "limits")
      ? warning(text, "Run the engine as root, or give its user these control groups: see docs/engines.md.")
      : good(text);
  } catch (error) {
    const directory = [settingsOf(context).engine.socket ?? DOCKER_SOCKET].find(isDirectory);
    if (directory !== undefined)
      return bad(
        `${directory} is a directory and no socket: a container that mounts it was started before the engine listened.`,
        `sudo rmdir ${directory} && sudo systemctl restart docker.socket docker`,
      );
    return bad(`${capitalize(errorText(error))}.`, nextFor(error, context, signal.aborted));
  }
};

function nextFor(error: unknown, { isService }: ProbeContext, isLate: boolean): string {
  // The cause of an `EngineError` is the system's error.
  const { code, address = "" } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException & {
    readonly address?: string;
  };
  if (code === "EACCES" || code === "EPERM") return isService ? openSocketTo(address) : "Run this as root.";
  const isPodman = isPodmanSocket(address);
  const unit = isPodman ? "podman.socket" : "docker";
  if (isLate || /no answer/.test(errorText(error))) return `sudo systemctl restart ${unit}`;
  const why = `sudo journalctl -u ${isPodman ? "podman" : "docker"} -n 20`;
  return `sudo systemctl start ${unit}. If it is masked, first: sudo systemctl unmask ${isPodman ? "podman podman.socket" : "docker docker.socket"}. If it does not stay up, see why: ${why}. Where it listens elsewhere, set engine.socket in the configuration.`;
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isPodmanSocket(path: string): boolean {
  return path.includes("podman");
}

/** The command that gives the service's user access to the engine's socket. */
function openSocketTo(path: string): string {
  // Nothing but a setting of its unit is left at the next boot.
  if (isPodmanSocket(path))
    return "sudo systemctl edit podman.socket, with [Socket] and SocketGroup=edge-agent; then as docs/install.md says of Podman.";
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts && facts.gid !== 0 && (facts.mode & 0o060) === 0o060)
    return "The socket's group is none of the service's: sudo systemctl edit edge-agent, with SupplementaryGroups= that group, and restart it.";
  return `sudo chgrp docker ${path} && sudo chmod 660 ${path}`;
}
