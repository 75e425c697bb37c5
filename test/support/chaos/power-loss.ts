import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SeededRandom } from "./seeded-random.ts";

const SUFFIXES = ["", "-wal"] as const;
type Files = Readonly<Record<(typeof SUFFIXES)[number], Buffer>>;

/** Reads a database's files. SQLite's shared memory is left out: a power loss discards it. */
export function readFiles(path: string): Files {
  const read = (suffix: string): Buffer => (existsSync(path + suffix) ? readFileSync(path + suffix) : Buffer.alloc(0));
  return { "": read(""), "-wal": read("-wal") };
}

/** Empties the directory, writes a database's files into it and returns the database's path. */
export function writeFiles(files: Files, directory: string, name: string): string {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const suffix of SUFFIXES) {
    if (files[suffix].length > 0) writeFileSync(join(directory, name + suffix), files[suffix]);
  }
  return join(directory, name);
}

/**
 * Returns possible file contents after a power loss during a write: the written file has a new beginning and an old
 * rest; the end of a growing log may also be garbage. SQLite writes one file at a time, and the log is on disk before
 * the database is written.
 *
 * @param samples number of random cuts of each file, in addition to its edges
 */
export function tornFiles(before: Files, after: Files, random: SeededRandom, samples: number): Files[] {
  return [
    ...torn(before["-wal"], after["-wal"], random, samples).map((wal) => ({ "": before[""], "-wal": wal })),
    ...torn(before["-wal"], after["-wal"], random, samples, random.between(0, 255)).map((wal) => ({
      "": before[""],
      "-wal": wal,
    })),
    ...torn(before[""], after[""], random, samples).map((database) => ({ "": database, "-wal": after["-wal"] })),
  ];
}

function torn(old: Buffer, fresh: Buffer, random: SeededRandom, samples: number, garbage?: number): Buffer[] {
  if (old.equals(fresh)) return [];
  const first = fresh.findIndex((byte, index) => byte !== old[index]);
  const cuts = new Set([first, first + 1, fresh.length - 1]);
  for (let sample = 0; sample < samples; sample++) cuts.add(random.between(first, fresh.length - 1));
  return [...cuts].map((cut) => {
    const rest = garbage === undefined ? old.subarray(cut) : Buffer.alloc(fresh.length - cut, garbage);
    return Buffer.concat([fresh.subarray(0, cut), rest]);
  });
}
