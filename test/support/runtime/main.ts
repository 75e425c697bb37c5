import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  boundedCapabilities,
  fitNamespaces,
  fitProcess,
  hardLimits,
  type OciLinux,
  type OciProcess,
} from "./fit-process.ts";

const args = process.argv.slice(2);
const capabilities = boundedCapabilities(readFileSync("/proc/self/status", "utf8"));
const limits = hardLimits(readFileSync("/proc/self/limits", "utf8"));

const bundle = valueOf("--bundle", "-b");
if (args.includes("create") || args.includes("run")) {
  const path = join(bundle ?? ".", "config.json");
  const config = read(path) as { process?: OciProcess; linux?: OciLinux };
  fitProcess(config.process ?? {}, capabilities, limits);
  fitNamespaces(config.linux ?? {}, knownNamespaces);
  writeFileSync(path, JSON.stringify(config));
}
const processFile = valueOf("--process", "-p");
if (args.includes("exec") && processFile !== undefined) {
  const process = read(processFile) as OciProcess;
  fitProcess(process, capabilities, limits);
  writeFileSync(processFile, JSON.stringify(process));
}

const { status } = spawnSync("runc", args, { stdio: "inherit" });
process.exitCode = status ?? 1;

function valueOf(...names: readonly string[]): string | undefined {
  const index = args.findIndex((arg) => names.includes(arg));
  if (index !== -1) return args[index + 1];
  const prefix = `${names[0]}=`;
  return args.find((arg) => arg.startsWith(prefix))?.slice(prefix.length);
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}

function knownNamespaces(): ReadonlySet<string> {
  const { stdout } = spawnSync("runc", ["features"], { encoding: "utf8" });
  return new Set((JSON.parse(stdout) as { linux: { namespaces: string[] } }).linux.namespaces);
}
