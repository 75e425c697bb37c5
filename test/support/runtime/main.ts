import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { boundedCapabilities, fitProcess } from "./fit-process.ts";

const args = process.argv.slice(2);
const capabilities = boundedCapabilities(readFileSync("/proc/self/status", "utf8"));

const bundle = valueOf("--bundle", "-b");
if (args.includes("create") || args.includes("run")) rewrite(join(bundle ?? ".", "config.json"), "process");
const processFile = valueOf("--process", "-p");
if (args.includes("exec") && processFile !== undefined) rewrite(processFile, undefined);

const { status } = spawnSync("runc", args, { stdio: "inherit" });
process.exitCode = status ?? 1;

function valueOf(...names: readonly string[]): string | undefined {
  const index = args.findIndex((arg) => names.includes(arg));
  if (index !== -1) return args[index + 1];
  const prefix = `${names[0]}=`;
  return args.find((arg) => arg.startsWith(prefix))?.slice(prefix.length);
}

function rewrite(path: string, key: "process" | undefined): void {
  const document = JSON.parse(readFileSync(path, "utf8")) as Record<string, object>;
  fitProcess((key === undefined ? document : document[key]) ?? {}, capabilities);
  writeFileSync(path, JSON.stringify(document));
}
