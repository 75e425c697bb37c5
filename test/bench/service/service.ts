import { spawn } from "node:child_process";
import { mkdir, open, readFile } from "node:fs/promises";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createId, createSecret, hashSecret } from "../../../src/control-plane/accounts/secrets.ts";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";

const HOST = "127.0.0.1";

/** The built edge-control, logging to a file as under a service manager. */
export interface Service extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  readonly pid: number;
  /** Where it serves its metrics; `undefined` without. */
  readonly metricsPort: number | undefined;
  /** Ends it with SIGKILL and waits for its end. */
  kill(): Promise<void>;
}

/** Prepares the data directory for `startService` in this folder. */
export async function prepareData(folder: string): Promise<{ readonly database: string }> {
  const path = join(folder, "data");
  await mkdir(path, { recursive: true });
  return prepareDataDir(path);
}

/**
 * Starts the service on the folder's data, with a higher rate limit than the default.
 *
 * @param further options of `edge-control serve`, such as another database
 */
export async function startService(folder: string, further: Readonly<Record<string, string>> = {}): Promise<Service> {
  await mkdir(folder, { recursive: true });
  const logFile = join(folder, "edge-control.log");
  const log = await open(logFile, "w");
  const own = { listen: `${HOST}:0`, "data-dir": join(folder, "data"), "rate-limit-per-minute": "1000000000" };
  const options = { ...own, ...further };
  const args = Object.entries(options).flatMap(([key, value]) => [`--${key}`, value]);
  const child = spawn("dist/edge-control", ["serve", ...args], { stdio: ["ignore", log.fd, log.fd] });
  const { pid } = child;
  if (pid === undefined) throw new Error("cannot start edge-control");
  const ended = once(child, "exit");
  await log.close();
  const kill = (): void => void child.kill("SIGKILL");
  process.once("exit", kill);
  const stop = async (): Promise<void> => {
    process.off("exit", kill);
    child.kill("SIGTERM");
    await ended;
  };
  const killNow = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  try {
    const hasEnded = (): boolean => child.exitCode !== null;
    const port = await listeningPort(logFile, "listening", hasEnded);
    const metricsPort =
      "metrics-listen" in further ? await listeningPort(logFile, "metrics listening", hasEnded) : undefined;
    return { host: HOST, port, pid, metricsPort, kill: killNow, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates an account with a key. */
export async function addAccount(store: Store): Promise<{ readonly accountId: string; readonly apiKey: string }> {
  const accountId = createId("acc_");
  const apiKey = createSecret("ek_");
  const createdAt = Math.floor(Date.now() / 1000);
  await store.accounts.createAccount({ id: accountId, name: "bench", createdAt });
  const key = {
    id: createId("key_"),
    accountId,
    name: "bench",
    createdAt,
    lastUsedAt: undefined,
    revokedAt: undefined,
    permissions: [],
    role: "admin" as const,
    expiresAt: undefined,
    createdBy: undefined,
  };
  await store.keys.createKey(key, hashSecret(apiKey));
  return { accountId, apiKey };
}

/** Runs `work` with the folder's store. Must be called before the service starts. */
export async function withStore<T>(folder: string, work: (store: Store) => Promise<T>): Promise<T> {
  await using store = openStore((await prepareData(folder)).database);
  return await work(store);
}

async function listeningPort(logFile: string, message: string, hasEnded: () => boolean): Promise<number> {
  for (;;) {
    const text = await readFile(logFile, "utf8");
    const line = text.split("\n").find((each) => each.includes(`"msg":"${message}"`));
    if (line !== undefined) return (JSON.parse(line) as { port: number }).port;
    if (hasEnded()) throw new Error(`edge-control does not start:\n${text}`);
    await sleep(20);
  }
}
