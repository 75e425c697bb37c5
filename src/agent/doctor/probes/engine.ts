import { errorText } from "../../../lib/error-text.ts";
import { engineDifferences } from "../../core/host/engine-differences.ts";
import { bad, good, type Probe, warning } from "../probe.ts";

/** Oldest supported versions. */
const MIN_VERSIONS = { docker: "20.10", podman: "4.3" } as const;

/** The container engine responds and its version is supported. */
export const probeEngine: Probe = async ({ engine }, signal) => {
  try {
    const info = await engine.info(signal);
    const { kind, version } = info;
    const differs = engineDifferences(info);
    const name = `${info.isRootless ? "rootless " : ""}${kind} ${version}`;
    const text = [`${name} answers.`, ...differs.map(({ text: difference }) => difference)].join(" ");
    if (differs.some(({ id }) => id === "limits"))
      return warning(text, "Run the engine as root, or give its user these control groups: see docs/engines.md.");
    if (!isOlder(version, MIN_VERSIONS[kind])) return good(text);
    return warning(
      `${text} It is older than ${MIN_VERSIONS[kind]}.`,
      `Update it: ${kind} ${MIN_VERSIONS[kind]} is the oldest the agent is made for.`,
    );
  } catch (error) {
    const why = errorText(error);
    return bad(
      `${why}.`,
      isPermissionDenied(error)
        ? "Add the service's user to the engine's group (docker), or run this as root."
        : "Start it: systemctl start docker. Where it listens elsewhere, set engine.socket in the configuration.",
    );
  }
};

/** Whether opening the engine's socket was denied: the cause of an `EngineError` is the system's error. */
function isPermissionDenied(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  return code === "EACCES" || code === "EPERM";
}

function isOlder(version: string, oldest: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const [oldMajor = 0, oldMinor = 0] = oldest.split(".").map(Number);
  return major < oldMajor || (major === oldMajor && minor < oldMinor);
}
