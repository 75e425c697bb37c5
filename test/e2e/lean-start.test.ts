import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startAgent, waitUntilOnline } from "../../scripts/system/agent.ts";
import { run } from "../support/command.ts";
import { tempDir } from "../support/temp-dir.ts";
import { startSystem } from "../bench/system.ts";

/** Modules of Node.js that only rare functions use, or connections of a kind that these starts do not have. */
const NOT_NEEDED = ["zlib", "worker_threads", "assert", "tls", "https", "module", "v8", "inspector"];
/** Loaded by the logger of the daemon, at a cost too small to measure. */
const OF_LOGGER: ReadonlySet<string> = new Set(["worker_threads", "assert"]);

/** Writes at the end of a process which modules of Node.js it has loaded. */
const REPORT = `process.on("exit", () => {
  require("node:fs").writeFileSync(process.env.LOADED_FILE, JSON.stringify(process.moduleLoadList));
});`;

/** @param work starts a process with the environment, and waits for its end */
async function loadedBy(
  folder: string,
  work: (environment: Readonly<Record<string, string>>) => Promise<void>,
): Promise<string[]> {
  const hook = join(folder, "report.cjs");
  const file = join(folder, "loaded.json");
  await writeFile(hook, REPORT);
  await work({ NODE_OPTIONS: `--require ${hook}`, LOADED_FILE: file });
  const list = JSON.parse(await readFile(file, "utf8")) as string[];
  return list.flatMap((entry) => /^NativeModule (.+)$/.exec(entry)?.[1] ?? []);
}

test("a start loads no module of Node.js that it does not need", async () => {
  await using folder = await tempDir();
  await using system = await startSystem();
  const config = join(system.folder, "device", "agent.json");
  const status = await loadedBy(folder.path, async (env) => {
    const { code } = await run("dist/edge-agent", ["status", "--config", config], { env });
    expect(code).toBe(0);
  });
  await system.agent[Symbol.asyncDispose]();
  const daemon = await loadedBy(folder.path, async (environment) => {
    const { agentUrl: controlPlaneUrl } = system.control;
    const { deviceToken } = system.registration;
    await using agent = await startAgent(join(system.folder, "device"), { controlPlaneUrl, deviceToken, environment });
    await waitUntilOnline(agent);
  });
  // What loading the hook itself needs is loaded by a bare process too.
  const bare = await loadedBy(folder.path, async (env) => {
    const { code } = await run("dist/node", ["--eval", "0"], { env });
    expect(code).toBe(0);
  });
  const added = (loaded: readonly string[]): string[] => loaded.filter((name) => !bare.includes(name));
  expect(added(daemon)).toContain("http");
  const notNeeded = added(daemon).filter((name) => NOT_NEEDED.includes(name) && !OF_LOGGER.has(name));
  expect(notNeeded).toEqual([]);
  expect(added(status)).toContain("http");
  expect(added(status).filter((name) => [...NOT_NEEDED, "crypto", "child_process", "sqlite"].includes(name))).toEqual(
    [],
  );
});
