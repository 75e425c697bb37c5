import { fork } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { createSecret, hashSecret } from "../../../src/control-plane/accounts/secrets.ts";
import type { FleetOrder, FleetReport } from "./fleet-process.ts";

/** Devices in processes of their own, over real WebSockets. */
export interface SimulatedFleet extends AsyncDisposable {
  /** Connects all devices. Resolves when the last one is welcomed. */
  connect(url: string): Promise<void>;
  disconnect(): Promise<void>;
  /** Time of day at which each device was last welcomed that came back by itself, in milliseconds. */
  returnedAt(): Promise<readonly number[]>;
  /** Time of day at which devices received groups of apps since this was last called, in milliseconds. */
  appliedAt(): Promise<readonly number[]>;
  /** Bytes of each release of the agent that a device has fetched since this was last called. */
  updateBytes(): Promise<readonly number[]>;
}

/**
 * Starts the processes.
 *
 * @param tokens of the devices, one each
 * @param returns whether a device whose connection is lost connects again when an agent would
 */
export function startFleet(tokens: readonly string[], processes: number, returns = false): SimulatedFleet {
  const perProcess = Math.ceil(tokens.length / processes);
  const parts = Array.from({ length: processes }, (_, index) => {
    return startPart(tokens.slice(index * perProcess, (index + 1) * perProcess), returns);
  });
  const each = async (work: (part: Part) => Promise<void>): Promise<void> => void (await Promise.all(parts.map(work)));
  return {
    connect: (url) => each((part) => part.connect(url)),
    disconnect: () => each((part) => part.disconnect()),
    returnedAt: async () => (await Promise.all(parts.map((part) => part.returnedAt()))).flat(),
    appliedAt: async () => (await Promise.all(parts.map((part) => part.appliedAt()))).flat(),
    updateBytes: async () => (await Promise.all(parts.map((part) => part.updateBytes()))).flat(),
    [Symbol.asyncDispose]: () => each((part) => part.stop()),
  };
}

interface Part {
  connect(url: string): Promise<void>;
  disconnect(): Promise<void>;
  returnedAt(): Promise<readonly number[]>;
  appliedAt(): Promise<readonly number[]>;
  updateBytes(): Promise<readonly number[]>;
  stop(): Promise<void>;
}

function startPart(tokens: readonly string[], returns: boolean): Part {
  const child = fork("test/bench/service/fleet-process.ts", { execPath: "dist/node", stdio: "inherit" });
  const ended = once(child, "exit");
  const failed = ended.then(([code, signal]) => {
    throw new Error(`a process with devices ended early: ${String(signal ?? code)}`);
  });
  failed.catch(() => {});
  const order = async (message: FleetOrder): Promise<FleetReport> => {
    const report = once(child, "message");
    child.send(message);
    const [reply] = (await Promise.race([report, failed])) as [FleetReport];
    return reply;
  };
  const reach = async (message: FleetOrder, count: number): Promise<void> => {
    const { connected } = await order(message);
    if (connected !== count) throw new Error(`${connected} instead of ${count} devices connected`);
  };
  return {
    connect: (url) => reach({ type: "connect", url, tokens, returns }, tokens.length),
    disconnect: () => reach({ type: "disconnect" }, 0),
    returnedAt: async () => (await order({ type: "count" })).returnedAt,
    appliedAt: async () => (await order({ type: "count" })).appliedAt,
    updateBytes: async () => (await order({ type: "count" })).updateBytes,
    async stop() {
      child.kill();
      await ended;
    },
  };
}

/**
 * Writes assets in one transaction, and returns the tokens of their devices. Serial numbers are `GW-0` and so on, or begin
 * with another number where the database has assets already.
 */
export function addDevices(path: string, accountId: string, count: number, first = 0): string[] {
  using database = new DatabaseSync(path);
  database.exec("BEGIN");
  const asset = database.prepare(
    `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, device_token_hash)
     VALUES (?, ?, ?, ?, 'gateway', 1790000000, ?)`,
  );
  const accepted = database.prepare("UPDATE asset_states SET accepted_at = 1790000000 WHERE asset_uuid = ?");
  const identifier = database.prepare("INSERT INTO identifiers (value, asset_uuid) VALUES (?, ?)");
  const tokens = Array.from({ length: count }, (_, offset) => {
    const index = first + offset;
    const uuid = `00000000-0000-7000-8000-${index.toString(16).padStart(12, "0")}`;
    const serial = `GW-${index}`;
    const token = createSecret("ed_");
    asset.run(uuid, accountId, serial, serial, hashSecret(token));
    if (accepted.run(uuid).changes !== 1) throw new Error(`asset ${uuid} has no state`);
    for (const value of [uuid, serial]) identifier.run(value, uuid);
    return token;
  });
  database.exec("COMMIT");
  return tokens;
}

/** Gives all assets of an account the same tag, in one transaction. */
export function tagAll(path: string, accountId: string, key: string, value: string): void {
  using database = new DatabaseSync(path);
  const tag = database.prepare(
    `INSERT INTO asset_tags (asset_uuid, account_id, key, value) SELECT uuid, account_id, ?, ? FROM assets WHERE account_id = ?`,
  );
  tag.run(key, value, accountId);
}
