import { fork } from "node:child_process";
import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { createSecret, hashSecret } from "../../../src/control-plane/secrets.ts";
import type { FleetOrder, FleetReport } from "./fleet-process.ts";

/** Devices in processes of their own, over real WebSockets. */
export interface SimulatedFleet extends AsyncDisposable {
  /** Connects all devices. Resolves when the last one is welcomed. */
  connect(url: string): Promise<void>;
  disconnect(): Promise<void>;
}

/** Starts the processes. @param tokens of the devices, one each */
export function startFleet(tokens: readonly string[], processes: number): SimulatedFleet {
  const perProcess = Math.ceil(tokens.length / processes);
  const parts = Array.from({ length: processes }, (_, index) => {
    return startPart(tokens.slice(index * perProcess, (index + 1) * perProcess));
  });
  const each = async (work: (part: Part) => Promise<void>): Promise<void> => void (await Promise.all(parts.map(work)));
  return {
    connect: (url) => each((part) => part.connect(url)),
    disconnect: () => each((part) => part.disconnect()),
    [Symbol.asyncDispose]: () => each((part) => part.stop()),
  };
}

interface Part {
  connect(url: string): Promise<void>;
  disconnect(): Promise<void>;
  stop(): Promise<void>;
}

function startPart(tokens: readonly string[]): Part {
  const child = fork("test/bench/service/fleet-process.ts", { execPath: "dist/node", stdio: "inherit" });
  const ended = once(child, "exit");
  const failed = ended.then(([code, signal]) => {
    throw new Error(`a process with devices ended early: ${String(signal ?? code)}`);
  });
  failed.catch(() => {});
  const order = async (message: FleetOrder, connected: number): Promise<void> => {
    const report = once(child, "message");
    child.send(message);
    const [reply] = (await Promise.race([report, failed])) as [FleetReport];
    if (reply.connected !== connected) throw new Error(`${reply.connected} instead of ${connected} devices connected`);
  };
  return {
    connect: (url) => order({ type: "connect", url, tokens }, tokens.length),
    disconnect: () => order({ type: "disconnect" }, 0),
    async stop() {
      child.kill();
      await ended;
    },
  };
}

/** Writes assets in one transaction, and returns the tokens of their devices. Serial numbers are `GW-0` and so on. */
export function addDevices(path: string, accountId: string, count: number): string[] {
  using database = new DatabaseSync(path);
  database.exec("BEGIN");
  const asset = database.prepare(
    `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, device_token_hash)
     VALUES (?, ?, ?, ?, 'gateway', 1790000000, ?)`,
  );
  const identifier = database.prepare("INSERT INTO identifiers (value, asset_uuid) VALUES (?, ?)");
  const tokens = Array.from({ length: count }, (_, index) => {
    const uuid = `00000000-0000-7000-8000-${index.toString(16).padStart(12, "0")}`;
    const serial = `GW-${index}`;
    const token = createSecret("ed_");
    asset.run(uuid, accountId, serial, serial, hashSecret(token));
    for (const value of [uuid, serial]) identifier.run(value, uuid);
    return token;
  });
  database.exec("COMMIT");
  return tokens;
}
