import { ociArchitecture } from "../../lib/release/architecture.ts";
import type { StatsFs } from "node:fs";
import { readFile, statfs } from "node:fs/promises";
import { arch, cpus, hostname, release, totalmem } from "node:os";
import type { DeviceFacts } from "../../protocol/apps/app-report.ts";
import { clockFactsReader } from "./clock-facts.ts";

/** What the facts need of the engine. */
export interface EngineIdentity {
  readonly kind: "docker" | "podman";
  readonly version: string;
  /** Directory the engine keeps images in. */
  readonly dataRoot: string;
}

/**
 * How much more than the limit must be free until the disk is no longer low: a disk whose free space moves around the limit
 * would change the report again and again.
 */
const FREE_AGAIN = 1.2;

/** Reads the size of the file system that has this path, in blocks. */
type ReadDisk = (path: string) => Promise<Pick<StatsFs, "blocks" | "bavail" | "bsize">>;

/** Returns a reader of the facts. @param minFreeShare the disk is low with a smaller share of it free */
export function deviceFactsReader(
  agentVersion: string,
  minFreeShare: number,
  readDisk: ReadDisk = statfs,
): (engine: EngineIdentity | undefined) => Promise<DeviceFacts> {
  let wasLow = false;
  const readClock = clockFactsReader();
  return async (engine) => {
    const facts = {
      ...(await readDeviceFacts(agentVersion, engine, wasLow ? minFreeShare * FREE_AGAIN : minFreeShare, readDisk)),
      ...(await readClock()),
    };
    wasLow = facts.disk_low ?? wasLow;
    return facts;
  };
}

/** Reads the facts of the machine; `null` for what cannot be read. */
async function readDeviceFacts(
  agentVersion: string,
  engine: EngineIdentity | undefined,
  minFreeShare: number,
  readDisk: ReadDisk,
): Promise<DeviceFacts> {
  const [os, model, disk] = await Promise.all([
    osName(),
    hardwareModel(),
    // An engine on another machine has no directory here.
    engine && readDisk(engine.dataRoot).catch(() => undefined),
  ]);
  return {
    agent_version: agentVersion.slice(0, 64),
    engine: engine ? { kind: engine.kind, version: engine.version.slice(0, 64) } : null,
    architecture: ociArchitecture(arch()),
    os,
    kernel: release().slice(0, 128),
    hostname: hostname().slice(0, 256),
    model,
    cpus: cpus().length,
    memory_total_bytes: totalmem(),
    disk_total_bytes: disk ? disk.blocks * disk.bsize : null,
    // Not how much is free: each change of it would be a change of the report.
    ...(disk && disk.blocks > 0 && { disk_low: disk.bavail / disk.blocks < minFreeShare }),
  };
}

async function osName(): Promise<string | null> {
  const text = await readText("/etc/os-release");
  const name = /^PRETTY_NAME="?(.*?)"?$/m.exec(text ?? "")?.[1];
  return name ? name.slice(0, 128) : null;
}

/** Boards name their model in the device tree, other machines in DMI. */
async function hardwareModel(): Promise<string | null> {
  const text =
    (await readText("/proc/device-tree/model")) ?? (await readText("/sys/devices/virtual/dmi/id/product_name"));
  const model = text?.replaceAll("\0", "").trim();
  return model ? model.slice(0, 128) : null;
}

function readText(path: string): Promise<string | undefined> {
  // Not every machine has the file.
  return readFile(path, "utf8").catch(() => undefined);
}
