export interface OciProcess {
  capabilities?: Record<string, string[]>;
  rlimits?: { type: string; hard: number; soft: number }[];
}

export interface OciLinux {
  namespaces?: { type: string }[];
}

const SYS_RESOURCE = "CAP_SYS_RESOURCE";

/** Removes from an OCI process what a machine with these capabilities and hard limits cannot grant. */
export function fitProcess(
  process: OciProcess,
  available: ReadonlySet<string>,
  hardLimits: ReadonlyMap<string, number> = new Map(),
): void {
  for (const [set, names] of Object.entries(process.capabilities ?? {})) {
    process.capabilities![set] = names.filter((name) => available.has(name));
  }
  if (available.has(SYS_RESOURCE)) return;
  process.rlimits = (process.rlimits ?? []).filter(({ type, hard }) => hard <= (hardLimits.get(type) ?? -1));
}

const LIMITS: Readonly<Record<string, string>> = {
  "core file size": "RLIMIT_CORE",
  "open files": "RLIMIT_NOFILE",
  processes: "RLIMIT_NPROC",
};

/** Hard limits in the text of a `/proc/PID/limits`, as far as tests set them. */
export function hardLimits(text: string): Map<string, number> {
  const rows = [...text.matchAll(/^Max (.+?) {2,}\S+ +(\S+)/gm)];
  return new Map(
    rows.flatMap(([, name = "", hard = ""]) => {
      const type = LIMITS[name];
      return type === undefined ? [] : [[type, hard === "unlimited" ? Number.POSITIVE_INFINITY : Number(hard)]];
    }),
  );
}

/**
 * Removes the time namespace, which current Dockers request, if the machine's runc does not support it. `known` is
 * called only if needed, because it is slow.
 */
export function fitNamespaces(linux: OciLinux, known: () => ReadonlySet<string>): void {
  const isNew = linux.namespaces?.some(({ type }) => type === "time");
  if (isNew && !known().has("time")) linux.namespaces = linux.namespaces?.filter(({ type }) => type !== "time") ?? [];
}

/** Every capability of the kernel, in numerical order as in linux/capability.h. */
export const CAPABILITIES = (
  "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE " +
  "NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN " +
  "SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE " +
  "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE"
)
  .split(" ")
  .map((name) => `CAP_${name}`);

/** Capabilities of the bounding set in the text of a `/proc/PID/status`. */
export function boundedCapabilities(status: string): Set<string> {
  const mask = BigInt(`0x${/^CapBnd:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0"}`);
  return new Set(CAPABILITIES.filter((_, bit) => mask & (1n << BigInt(bit))));
}
