import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { writeAtomically } from "../../lib/write-atomically.ts";
import type { ResolvedImage } from "../registry/registry.ts";

/*
 * An engine pulls an image under a name on loopback, which is removed when the image has its own name. If the agent is killed
 * before, the name keeps the image on the device for ever, and the parts of its layers stay until they are old. So what is to be
 * removed is written down before the engine is asked.
 *
 * The record also has the address that the engine pulls from. Docker fetches a layer once, shared by all pulls that need it. When
 * the agent is killed during a pull, Docker retries the old pull's address for half a minute with growing delays, and a new pull
 * waits for that. So the new pull is offered at the old address, and Docker continues at its first retry.
 *
 * Records are found by the image's configuration, which is the same in whatever form its layers are offered.
 */

/** Offers of a pull that are recorded, the latest. One that fails is repeated for as long as its app is wanted. */
const MAX_OFFERS = 16;

const digestSchema = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const addressSchema = z.object({
  port: z.int().min(1024).max(65_535),
  secret: z.string().regex(/^[0-9a-f]{32}$/),
});
const recordSchema = z.object({
  reference: z.string(),
  /** What engines may call the image: the digests of its configuration and of its manifest in the registry, then of those offered. */
  ids: z.array(digestSchema),
  /** Digests in the registry. */
  layers: z.array(digestSchema),
  /** Names on loopback. */
  names: z.array(z.string()),
  address: addressSchema.optional(),
});
type PullRecord = z.output<typeof recordSchema>;
export type LoopbackAddress = z.output<typeof addressSchema>;

/** What an engine is offered an image as. */
export interface Offer {
  /** On loopback. */
  readonly name: string;
  readonly address: LoopbackAddress;
  /** Of the offered manifest. */
  readonly digest: string;
}

/** A pull that did not end, and is not under way. */
export interface LeftPull {
  readonly record: PullRecord;
  readonly file: string;
  /** Milliseconds since the Unix epoch, by a clock that may have been wrong. */
  readonly changedAt: number;
}

/** With the digest of the configuration, and what tells pulls of the same image from each other. */
const RECORD_FILE = /^(?<config>[0-9a-f]{64})\.[0-9a-f]{8}\.pull$/;

/** The records of pulls in a directory. Losing one costs time and disk space after a crash, so errors are ignored. */
export class PullRecords {
  readonly #directory: string;
  /** Files of pulls that are under way, or whose leftovers are being removed. */
  readonly #taken = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Begins a pull, or goes on with one that was interrupted. */
  begin(image: ResolvedImage): RecordedPull {
    const hex = image.config.digest.slice("sha256:".length);
    const earlier = this.left().find((left) => left.file.startsWith(hex));
    const file = earlier?.file ?? `${hex}.${randomBytes(4).toString("hex")}.pull`;
    this.#taken.add(file);
    const own = [image.config.digest, image.digest];
    const offered = (earlier?.record.ids ?? []).filter((id) => !own.includes(id));
    const record = {
      reference: image.reference,
      ids: [...own, ...offered],
      layers: image.layers.map(({ digest }) => digest),
      names: earlier?.record.names ?? [],
      address: earlier?.record.address,
    };
    return new RecordedPull(record, {
      save: (changed) => this.#save(file, changed),
      remove: () => this.#remove(file),
      release: () => this.#taken.delete(file),
    });
  }

  /** Returns the pulls that left something, and are not under way. */
  left(): LeftPull[] {
    const free = this.#files().filter((file) => RECORD_FILE.test(file) && !this.#taken.has(file));
    return free.flatMap((file) => this.#load(file) ?? []);
  }

  /** Removes what a pull has left, and then its record, unless it is under way again. Rejects as `remove` does. */
  async finish({ file }: LeftPull, remove: () => Promise<void>): Promise<void> {
    if (this.#taken.has(file)) return;
    this.#taken.add(file);
    try {
      await remove();
      this.#remove(file);
    } finally {
      this.#taken.delete(file);
    }
  }

  #files(): string[] {
    try {
      return readdirSync(this.#directory);
    } catch {
      return [];
    }
  }

  /** Removes a record that cannot be read. */
  #load(file: string): LeftPull | undefined {
    const path = join(this.#directory, file);
    try {
      const record = recordSchema.parse(JSON.parse(readFileSync(path, "utf8")));
      return { record, file, changedAt: statSync(path).mtimeMs };
    } catch {
      this.#remove(file);
      return undefined;
    }
  }

  /** Readable by the agent alone. */
  #save(file: string, record: PullRecord): void {
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
      writeAtomically(join(this.#directory, file), JSON.stringify(record), { mode: 0o600 });
    } catch {
      // The download itself reports what is wrong with the directory.
    }
  }

  #remove(file: string): void {
    try {
      rmSync(join(this.#directory, file), { force: true });
    } catch {
      // It is tried again when left pulls are looked for.
    }
  }
}

interface Storage {
  readonly save: (record: PullRecord) => void;
  readonly remove: () => void;
  readonly release: () => unknown;
}

/** The record of a pull that is under way until disposed. */
export class RecordedPull implements Disposable {
  #record: PullRecord;
  #earlier: LoopbackAddress | undefined;
  readonly #storage: Storage;

  constructor(record: PullRecord, storage: Storage) {
    this.#record = record;
    this.#earlier = record.address;
    this.#storage = storage;
  }

  /** Names on loopback that the engine may know the image by, including those of interrupted pulls. */
  get names(): readonly string[] {
    return this.#record.names;
  }

  /** Returns the address of an interrupted pull, once. */
  takeAddress(): LoopbackAddress | undefined {
    const address = this.#earlier;
    this.#earlier = undefined;
    return address;
  }

  /** Must be called before the engine is asked to pull. */
  offer({ name, address, digest }: Offer): void {
    const { ids, names } = this.#record;
    const [config = "", manifest = "", ...offered] = ids;
    this.#record = {
      ...this.#record,
      address,
      ids: digest === manifest ? ids : [config, manifest, ...latest(offered, digest)],
      names: latest(names, name),
    };
    this.#storage.save(this.#record);
  }

  /** Removes the record: the pull left nothing. */
  end(): void {
    this.#storage.remove();
  }

  [Symbol.dispose](): void {
    this.#storage.release();
  }
}

/** Returns the latest of these with another one, each once. */
function latest(known: readonly string[], added: string): string[] {
  return [...known.filter((one) => one !== added), added].slice(-MAX_OFFERS);
}
