import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";
import { writeAtomically } from "../../../lib/write-atomically.ts";

/*
 * Docker's classic image store recognizes a layer by the digests under which it received it. A layer that it got as an
 * uncompressed tar is unknown to it under the registry's digest: the next image that has it would make it ask for the whole
 * layer again. So the agent remembers these layers, and names them to the engine as it got them.
 */

const MAX_LAYERS = 1_000;
const recordSchema = z.record(z.string().regex(/^sha256:[0-9a-f]{64}$/), z.int().min(0));

/** Layers that engines got uncompressed: bytes of the tars by diff id. Losing the record costs a download at most. */
export class HandedLayers {
  readonly #path: string;

  constructor(directory: string) {
    this.#path = join(directory, "uncompressed-layers.json");
  }

  load(): ReadonlyMap<string, number> {
    try {
      return new Map(Object.entries(recordSchema.parse(JSON.parse(readFileSync(this.#path, "utf8")))));
    } catch {
      return new Map();
    }
  }

  add(layers: ReadonlyMap<string, number>): void {
    if (layers.size === 0) return;
    const rest = [...this.load()].filter(([diffId]) => !layers.has(diffId));
    this.#save([...rest, ...layers].slice(-MAX_LAYERS));
  }

  remove(diffId: string): void {
    this.#save([...this.load()].filter(([other]) => other !== diffId));
  }

  #save(layers: readonly (readonly [string, number])[]): void {
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
      writeAtomically(this.#path, JSON.stringify(Object.fromEntries(layers)), { mode: 0o600 });
    } catch {
      // The download itself reports what is wrong with the directory.
    }
  }
}
