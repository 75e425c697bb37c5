import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { engineSocket } from "./engine-socket.ts";
import { countFlushes } from "./flush-counter.ts";
import { type Bench, atMost } from "./result.ts";
import { deployed, startSystem } from "./system.ts";

/**
 * Flash wear of one deployment without a pull: durable writes, and bytes by the kernel's count for the agent. Durable are
 * those that the agent has flushed; without strace the transactions are counted, of which one is not.
 */
export const durableWrites: Bench = {
  name: "durable-writes",
  async run({ quick }) {
    const deployments = quick ? 2 : 5;
    await using image = await loadImage(await engineSocket(), await sleeperImage(), "bench");
    await using system = await startSystem();
    // Excludes one-time writes, such as a new database.
    await deployed(system.target, { name: uniqueName("w"), image: image.reference });
    const log = join(system.folder, "device", "agent", "agent.db-wal");
    await using flushes = await countFlushes(system.agent.pid, join(system.folder, "flushes"));
    const measure = async () => {
      await sleep(1_000);
      const content = readFileSync(log);
      return {
        bytes: writtenBytes(system.agent.pid),
        commits: commitsIn(content),
        logged: content.length,
        flushed: flushes?.count ?? Number.NaN,
      };
    };
    const before = await measure();
    for (let count = 0; count < deployments; count++) {
      await deployed(system.target, { name: uniqueName("w"), image: image.reference });
    }
    const after = await measure();
    const bytes = (after.bytes - before.bytes) / deployments;
    const commits = (after.commits - before.commits) / deployments;
    const logged = (after.logged - before.logged) / deployments;
    const flushed = (after.flushed - before.flushed) / deployments;
    const writes = flushes ? `${flushed.toFixed(1)} durable writes` : `${commits.toFixed(1)} transactions`;
    return {
      data: { deployments, bytes, commits, logged, flushed: flushes ? flushed : null },
      rows: [
        {
          what: "agent: written to disk per deployment, image present",
          value: `${inKibibytes(bytes)} in ${writes}`,
          reference: `in its log, without rounding to pages: ${inKibibytes(logged)}`,
          target: atMost(48, "KiB", bytes / 1024),
        },
      ],
    };
  },
};

const inKibibytes = (bytes: number): string => `${(bytes / 1024).toFixed(0)} KiB`;

/** Bytes a process has written to storage. */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

// Format of the log: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** Transactions in a write-ahead log without a restart: the frames that contain the size of the database. */
function commitsIn(log: Buffer): number {
  const pageSize = log.readUInt32BE(8);
  let commits = 0;
  for (let at = HEADER_BYTES; at + FRAME_HEADER_BYTES <= log.length; at += FRAME_HEADER_BYTES + pageSize) {
    if (log.readUInt32BE(at + 4) !== 0) commits++;
  }
  return commits;
}
