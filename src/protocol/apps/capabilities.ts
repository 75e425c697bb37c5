/*
 * The Linux capabilities an app may be given or lose. One form is compared and stored: upper case, without `CAP_`.
 */

/** Capabilities that container engines give to every container. */
export const USUAL_CAPABILITIES: readonly string[] = [
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "NET_RAW",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
];

/** Capabilities that an app has only on request. */
export const UNUSUAL_CAPABILITIES: readonly string[] = [
  "AUDIT_CONTROL",
  "AUDIT_READ",
  "BLOCK_SUSPEND",
  "BPF",
  "CHECKPOINT_RESTORE",
  "DAC_READ_SEARCH",
  "IPC_LOCK",
  "IPC_OWNER",
  "LEASE",
  "LINUX_IMMUTABLE",
  "MAC_ADMIN",
  "MAC_OVERRIDE",
  "NET_ADMIN",
  "NET_BROADCAST",
  "PERFMON",
  "SYSLOG",
  "SYS_ADMIN",
  "SYS_BOOT",
  "SYS_MODULE",
  "SYS_NICE",
  "SYS_PACCT",
  "SYS_PTRACE",
  "SYS_RAWIO",
  "SYS_RESOURCE",
  "SYS_TIME",
  "SYS_TTY_CONFIG",
  "WAKE_ALARM",
];

/** Stands for every capability. */
export const ALL_CAPABILITIES = "ALL";

/** Every name, without `CAP_`. */
export const CAPABILITIES: readonly string[] = [...USUAL_CAPABILITIES, ...UNUSUAL_CAPABILITIES, ALL_CAPABILITIES];

/** Returns the name in upper case and without `CAP_`. */
export function canonicalCapability(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, "");
}
