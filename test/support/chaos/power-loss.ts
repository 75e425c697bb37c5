import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SeededRandom } from "./seeded-random.ts";

const SUFFIXES = ["", "-wal"] as const;
type Files = Readonly<Record<(typeof SUFFIXES)[number], Buffer>>;

/** A database as it lies on a disk, without what SQLite keeps in shared memory, which goes with the power. */
export function readFiles(path: string): Files {
  const read = (suffix: string): Buffer => (existsSync(path + suffix) ? readFileSync(path + suffix) : Buffer.alloc(0));
  return { "": read(""), "-wal": read("-wal") };
}

/** Puts a database into a directory, which is emptied before, and answers its path. */
export function writeFiles(files: Files, directory: string, name: string): string {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  for (const suffix of SUFFIXES) {
    if (files[suffix].length > 0) writeFileSync(join(directory, name + suffix), files[suffix]);
  }
  return join(directory, name);
}

/**
 * What a disk may hold when the power goes during a write: of the file that is being written the beginning is new, and
 * the rest is old. The end of a log that grows may also be rubbish. SQLite writes one file at a time, and the log is on
 * disk before the database is touched.
 *
 * @param samples how many cuts of each file are tried beside its edges
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

function torn(old: Buffer, fresh: Buffer, random: SeededRandom, samples: number, rubbish?: number): Buffer[] {
  if (old.equals(fresh)) return [];
  const first = fresh.findIndex((byte, index) => byte !== old[index]);
  const cuts = new Set([first, first + 1, fresh.length - 1]);
  for (let sample = 0; sample < samples; sample++) cuts.add(random.between(first, fresh.length - 1));
  return [...cuts].map((cut) => {
    const rest = rubbish === undefined ? old.subarray(cut) : Buffer.alloc(fresh.length - cut, rubbish);
    return Buffer.concat([fresh.subarray(0, cut), rest]);
  });
}
