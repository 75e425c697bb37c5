/** What the engine says of a container, as far as an app can notice it. */
export interface Inspected {
  readonly Id: string;
  readonly Config: Readonly<Record<string, unknown>> & { readonly Labels: Readonly<Record<string, string>> };
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Mounts: readonly Readonly<Record<string, unknown>>[];
}

const CONFIG = [
  "Env",
  "Cmd",
  "Entrypoint",
  "User",
  "WorkingDir",
  "Healthcheck",
  "StopSignal",
  "StopTimeout",
  "Tty",
  "OpenStdin",
];
const HOST =
  "CapAdd CapDrop GroupAdd PidsLimit SecurityOpt Tmpfs ReadonlyRootfs ShmSize Ulimits Sysctls ExtraHosts Dns DnsSearch DnsOptions Init Memory MemorySwap " +
  "NanoCpus Devices DeviceCgroupRules RestartPolicy PortBindings Privileged IpcMode PidMode CgroupnsMode OomKillDisable Runtime";

/** Of docker-compose and of the agent. */
const OWN_LABELS = /^(?:com\.docker\.compose|io\.edge-agent)\./;

/** Volumes that the agent, or the engine for docker-compose, has named. */
const OWN_VOLUME = /\/(?:edge-agent[^/]*|[0-9a-f]{64})\/_data$/;

/** Nothing and what is empty mean the same; lists whose order an app cannot notice are sorted. */
function normal(key: string, value: unknown): unknown {
  if (value === undefined || value === null || value === "" || value === false) return undefined;
  if (key === "Tmpfs") {
    const entries = Object.entries(value as Record<string, string>);
    return Object.fromEntries(entries.map(([path, options]) => [path, options.split(",").toSorted().join(",")]));
  }
  if (key === "PortBindings") {
    // Docker-compose writes that of all addresses as empty, where the agent writes none.
    return JSON.parse(JSON.stringify(value).replaceAll('"HostIp":"",', "")) as unknown;
  }
  if (key === "RestartPolicy") return { ...value, Name: (value as { readonly Name: string }).Name || "no" };
  // A name alone takes a variable of the image away. An app's variable that has no value is left out.
  if (key === "Env") return (value as readonly string[]).filter((entry) => entry.includes("=")).toSorted();
  if (key === "Healthcheck") return normalHealth(value as { readonly Test: readonly string[] });
  if (Array.isArray(value)) {
    const isOrdered = ["Cmd", "Entrypoint", "Dns", "DnsSearch"].includes(key);
    return value.length === 0 ? undefined : isOrdered ? value : value.map((item) => JSON.stringify(item)).toSorted();
  }
  return typeof value === "object" && Object.keys(value).length === 0 ? undefined : value;
}

/** A check by a shell is run by that of the image, which is /bin/sh. */
function normalHealth(check: { readonly Test: readonly string[] }): unknown {
  const [kind, ...words] = check.Test;
  return { ...check, Test: kind === "CMD-SHELL" ? ["CMD", "/bin/sh", "-c", ...words] : check.Test };
}

/** Brings an engine's description to the form in which those of two containers that are alike to an app are equal. */
export function comparable({ Config, HostConfig, Mounts }: Inspected): Readonly<Record<string, unknown>> {
  const mode = String(HostConfig["NetworkMode"]);
  return {
    ...Object.fromEntries(CONFIG.map((key) => [key, normal(key, Config[key])])),
    ...Object.fromEntries(HOST.split(" ").map((key) => [key, normal(key, HostConfig[key])])),
    // Both put the others on a network of their own.
    NetworkMode: ["host", "none"].includes(mode) || mode.startsWith("container:") ? mode : undefined,
    Labels: Object.fromEntries(Object.entries(Config.Labels ?? {}).filter(([name]) => !OWN_LABELS.test(name))),
    Mounts: Mounts.map(({ Type, Source, Destination, RW }) => {
      return { Type, Source: OWN_VOLUME.test(String(Source)) ? undefined : Source, Destination, RW };
    }),
  };
}
