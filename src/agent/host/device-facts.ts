import { readFile, statfs } from "node:fs/promises";
import { arch, cpus, hostname, release, totalmem } from "node:os";
import type { DeviceFacts } from "../../protocol/app-report.ts";

/** The engine on the device, as far as the facts name it. */
export interface EngineIdentity {
  readonly kind: "docker" | "podman";
  readonly version: string;
  /** Directory the engine keeps images in. */
  readonly dataRoot: string;
}

/** What the agent knows of the machine it runs on; `null` for what cannot be read. */
export async function readDeviceFacts(agentVersion: string, engine: EngineIdentity | undefined): Promise<DeviceFacts> {
  const [os, model, disk] = await Promise.all([
    osName(),
    hardwareModel(),
    engine && statfs(engine.dataRoot).catch(() => undefined),
  ]);
  return {
    agent_version: agentVersion.slice(0, 64),
    engine: engine ? { kind: engine.kind, version: engine.version.slice(0, 64) } : null,
    architecture: ARCHITECTURES[arch()] ?? arch(),
    os,
    kernel: release().slice(0, 128),
    hostname: hostname().slice(0, 256),
    model,
    cpus: cpus().length,
    memory_total_bytes: totalmem(),
    disk_total_bytes: disk ? disk.blocks * disk.bsize : null,
  };
}

/** As images name them. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64" };

async function osName(): Promise<string | null> {
  const text = await readText("/etc/os-release");
  const name = /^PRETTY_NAME="?(.*?)"?$/m.exec(text ?? "")?.[1];
  return name ? name.slice(0, 128) : null;
}

/** Boards say it in their device tree, other machines in their firmware. */
async function hardwareModel(): Promise<string | null> {
  const text =
    (await readText("/proc/device-tree/model")) ?? (await readText("/sys/devices/virtual/dmi/id/product_name"));
  const model = text?.replaceAll("\0", "").trim();
  return model ? model.slice(0, 128) : null;
}

function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch(() => undefined);
}
