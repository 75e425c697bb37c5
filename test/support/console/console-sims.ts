import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { utcDay } from "../../../src/control-plane/core/utc-days.ts";
import type { DeviceDataUsage } from "../../../src/protocol/link/data-usage.ts";
import { EmnifySimulator } from "../sim-operators/emnify-simulator.ts";
import { SuperSimSimulator } from "../sim-operators/super-sim-simulator.ts";
import { tempDir } from "../temp-dir.ts";
import { CountingDevice } from "./counting-device.ts";
import { type ConsoleRig, startConsole } from "./opened-console.ts";

const DAY_S = 86_400;
/** Bytes that a SIM uses on each day. */
const DAILY_BYTES = 40_000_000;
/** The part of it that the agent has counted as its own. */
const AGENT_BYTES = 12_000_000;

/** A SIM of each operator. */
export const SUPER_SIM = { sid: `HS${"c0".repeat(16)}`, iccid: "8988307000001234567" } as const;
export const PRO_SIM = { iccid: "8988303000001234567", imsi: "901430000000001" } as const;

/** The console of a service that asks both simulated operators. */
export interface ConsoleSims extends AsyncDisposable {
  readonly rig: ConsoleRig;
  readonly kore: SuperSimSimulator;
  readonly emnify: EmnifySimulator;
  /** Registers an asset, and connects a device that has counted some of each day's traffic. Returns its UUID. */
  addAsset(accountId: string, name: string, sims: readonly string[], isConnected?: boolean): Promise<string>;
}

/** The options that give an asset a SIM of each type. */
export function superSimOptions({
  sid,
  iccid,
}: { readonly sid: string; readonly iccid: string } = SUPER_SIM): string[] {
  return ["--supersim-sid", sid, "--supersim-iccid", iccid, "--network-group", "default_1gb"];
}

export function proSimOptions(): string[] {
  const { imsi, iccid } = PRO_SIM;
  return ["--prosim-imsi", imsi, "--prosim-iccid", iccid, "--service-profile", "iot-eu-standard"];
}

/** Starts both operators with a SIM each that has been used for 40 days, and the service with a browser. */
export async function startConsoleSims(): Promise<ConsoleSims> {
  await using owned = new AsyncDisposableStack();
  const directory = owned.use(await tempDir());
  const kore = owned.use(await SuperSimSimulator.start());
  const emnify = owned.use(await EmnifySimulator.start());
  kore.addFleet("default_1gb", 5_000);
  kore.addFleet("default_10gb", 10_000);
  kore.addSim({ ...SUPER_SIM, status: "ready" });
  const days = lastDays(40);
  for (const at of days)
    kore.use(SUPER_SIM.sid, at, DAILY_BYTES + (at % 7) * 1_000_000 + ((at / DAY_S) % 5) * 6_000_000);
  const usage = new Map(days.map((at) => [utcDay(at), 25 + ((at / DAY_S) % 3) * 4]));
  emnify.addSim({ ...PRO_SIM, usage });
  const config = await writeConfig(directory.path, kore, emnify);
  const rig = owned.use(await startConsole(["--config", config]));
  const devices = owned.use(new AsyncDisposableStack());
  const kept = owned.move();
  return {
    rig,
    kore,
    emnify,
    async addAsset(accountId, name, sims, isConnected = true) {
      const serial = name.replaceAll(" ", "-");
      const options = ["--account", accountId, "--name", name, "--serial-number", serial, ...sims];
      const { uuid = "", device_token: token = "" } = await rig.control.administer("asset", "add", ...options);
      const url = `${rig.control.url.replace("http", "ws")}/v1/agent`;
      if (isConnected) devices.use(await CountingDevice.connect(url, token, days.map(toLedgerDay)));
      return uuid;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function writeConfig(folder: string, kore: SuperSimSimulator, emnify: EmnifySimulator): Promise<string> {
  const secret = join(folder, "kore-secret");
  const token = join(folder, "emnify-token");
  await writeFile(secret, kore.clientSecret, { mode: 0o600 });
  await writeFile(token, emnify.applicationToken, { mode: 0o600 });
  const supersim = { url: kore.url, token_url: kore.tokenUrl, client_id: kore.clientId, client_secret_file: secret };
  const prosim = { url: emnify.url, application_token_file: token };
  const file = join(folder, "config.json");
  await writeFile(file, JSON.stringify({ sim_operators: { supersim, prosim } }), { mode: 0o600 });
  return file;
}

/** Starts of the last days, the first one first, today included. */
function lastDays(count: number): number[] {
  const today = Math.floor(Date.now() / 1000 / DAY_S) * DAY_S;
  return Array.from({ length: count }, (_, index) => today - (count - 1 - index) * DAY_S);
}

/** On one day, a week ago, the agent has counted more than both operators. */
function toLedgerDay(at: number, index: number, { length }: readonly number[]): DeviceDataUsage["days"][number] {
  const bytes = index === length - 8 ? 10 * AGENT_BYTES : AGENT_BYTES + ((at / DAY_S) % 4) * 1_000_000;
  return {
    day: utcDay(at),
    by_purpose: { pulls: { sent_bytes: bytes / 100, received_bytes: bytes } },
    overhead_estimate_bytes: bytes / 50,
    by_app: {},
    interfaces: { wwan0: { sent_bytes: 5_000_000, received_bytes: 2 * bytes } },
  };
}
