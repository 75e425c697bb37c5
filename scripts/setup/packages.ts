import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { SetupError, logSetup } from "./errors.ts";
import { findProgram } from "./programs.ts";
import type { Requirement } from "./requirements.ts";

/**
 * Installs the Debian packages of missing requirements, and returns those that it installed. Throws a `SetupError` if that
 * is impossible.
 */
export async function ensurePackages(requirements: readonly Requirement[]): Promise<readonly Requirement[]> {
  const missing = requirements.filter((requirement) => !requirement.isPresent());
  if (missing.length === 0) return [];
  if (findProgram("apt-get") === undefined) throw new SetupError(`${describe(missing)}, and there is no apt-get here`);
  if (process.getuid?.() !== 0) {
    const packages = missing.map((requirement) => requirement.packages.at(-1)).join(" ");
    throw new SetupError(`${describe(missing)}; as root: apt-get install --no-install-recommends ${packages}`);
  }
  install(missing);
  const absent = missing.filter((requirement) => !requirement.isPresent());
  if (absent.length > 0) throw new SetupError(`${describe(absent)}, although its package was installed`);
  return missing;
}

/** Whether this process may install Debian packages. */
export function canInstall(): boolean {
  return findProgram("apt-get") !== undefined && process.getuid?.() === 0;
}

function describe(missing: readonly Requirement[]): string {
  const names = missing.map((requirement) => `${requirement.name} (${requirement.purpose})`);
  return `this machine lacks ${names.join(", ")}`;
}

function install(missing: readonly Requirement[]): void {
  logSetup(`${describe(missing)}: refreshing the package lists`);
  aptGet(["update"]);
  const packages = [...new Set(missing.map((requirement) => firstAvailablePackage(requirement)))];
  logSetup(`installing the Debian packages ${packages.join(", ")}`);
  withoutServices(() => aptGet(["install", "--yes", "--no-install-recommends", ...packages]));
}

function firstAvailablePackage(requirement: Requirement): string {
  const known = requirement.packages.find((name) => spawnSync("apt-cache", ["show", name]).status === 0);
  if (known !== undefined) return known;
  throw new SetupError(`the package lists of this machine know no ${requirement.packages.join(" or ")}`);
}

function aptGet(args: readonly string[]): void {
  const result = spawnSync("apt-get", ["-qq", "-o", "DPkg::Lock::Timeout=120", ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    encoding: "utf8",
  });
  if (result.status === 0) return;
  process.stderr.write(result.stdout + result.stderr);
  throw new SetupError(`apt-get ${args.join(" ")} failed, see above`);
}

const POLICY = "/usr/sbin/policy-rc.d";
const POLICY_MARK = "# Written by the set-up of edge-agent's tests";
/** Refuses as long as this process lives: one that is killed leaves it behind. */
const POLICY_TEXT = `#!/bin/sh\n${POLICY_MARK}.\nkill -0 ${process.pid} 2>/dev/null || exit 0\nexit 101\n`;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

// Units of these packages that are not used: tests start their own registry, NATS server, PostgreSQL, Prometheus and
// Podman.
const UNWANTED_UNITS = [
  "docker-registry.service",
  "nats-server.service",
  "nginx.service",
  "prometheus.service",
  "prometheus-node-exporter.service",
  "podman.socket",
  "podman-auto-update.timer",
  "podman-restart.service",
  "postgresql.service",
];

/** Prevents packages from starting services during installation and at the next boot. */
function withoutServices(work: () => void): void {
  const existing = new Set(UNWANTED_UNITS.filter(unitExists));
  const policyIsOurs = !existsSync(POLICY) || readFileSync(POLICY, "utf8").includes(POLICY_MARK);
  if (policyIsOurs) writeFileSync(POLICY, POLICY_TEXT, { mode: 0o755 });
  for (const signal of SIGNALS) process.on(signal, ignoreSignal);
  try {
    work();
  } finally {
    if (policyIsOurs) rmSync(POLICY, { force: true });
    for (const signal of SIGNALS) process.off(signal, ignoreSignal);
  }
  const added = UNWANTED_UNITS.filter((unit) => !existing.has(unit) && unitExists(unit));
  if (added.length === 0 || !existsSync("/run/systemd/system")) return;
  logSetup(`disabling services of these packages that are not needed: ${added.join(", ")}`);
  spawnSync("systemctl", ["disable", "--quiet", ...added]);
}

// Without a listener, a signal would end this process before it cleans up. The installation is brought to its end.
function ignoreSignal(): void {}

function unitExists(unit: string): boolean {
  return ["/usr/lib/systemd/system", "/lib/systemd/system"].some((folder) => existsSync(`${folder}/${unit}`));
}
