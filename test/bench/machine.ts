import { execFileSync } from "node:child_process";
import { cpus, release, totalmem } from "node:os";

/** The machine and versions of a result. */
export function describeMachine(): Record<string, unknown> {
  return {
    time: new Date().toISOString(),
    commit: execFileSync("git", ["describe", "--always", "--dirty"], { encoding: "utf8" }).trim(),
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    memory_bytes: totalmem(),
    kernel: release(),
    node: process.version,
    engine: execFileSync("docker", ["version", "--format", "{{.Server.Version}}"], { encoding: "utf8" }).trim(),
  };
}
