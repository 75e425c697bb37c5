import { setImmediate as nextTurn } from "node:timers/promises";
import { JSON_LIMITS, type JsonKind } from "../../../src/protocol/values/bounded-json.ts";
import { type DearValue, DEAR_VALUES } from "./dear-json.ts";

/** Who sends what is read. */
export type Sender =
  | "registry"
  | "token service"
  | "image"
  | "index"
  | "engine"
  | "control plane"
  | "device"
  | "client"
  | "NATS"
  | "operator"
  | "OIDC provider"
  | "service"
  | "file";

export interface Input {
  readonly name: string;
  readonly bytes: Buffer;
}

/** A place where bytes of somebody else are read. */
export interface EntryPoint {
  readonly name: string;
  /** Who sends them. */
  readonly from: Sender;
  /** Files of the source that parse them. */
  readonly files: readonly string[];
  /** Inputs that are dear for what they are, at the limits of the entry point and beyond them. */
  readonly inputs: () => Iterable<Input>;
  /** Reads an input as the product does. May throw: most are refused. */
  readonly run: (bytes: Buffer) => unknown;
}

/** What stands before and behind a dear value in a document. */
export type Frame = readonly [before: string, after: string];

/**
 * Dear values at the places of a document, as many of them as the kind allows. At the first place all of them, and some in
 * greater number than it allows.
 */
export function* jsonInputs(
  kind: JsonKind,
  frames: readonly Frame[],
  maxBytes = JSON_LIMITS[kind].maxBytes,
): Generator<Input> {
  const { maxValues } = JSON_LIMITS[kind];
  // One for all: what the inputs take is not to be measured.
  const bytes = Buffer.alloc(maxBytes);
  for (const [index, [before, after]] of frames.entries()) {
    const start = bytes.write(before);
    const room = bytes.subarray(start, maxBytes - Buffer.byteLength(after));
    const spent = (before + after).replaceAll(/[^[{,:]/g, "").length;
    const put = (write: DearValue["write"], values: number): Buffer => {
      const end = start + write(room, values);
      return bytes.subarray(0, end + bytes.write(after, end));
    };
    for (const { name, write, isDearest = false } of DEAR_VALUES) {
      if (index > 0 && !isDearest) continue;
      const place = before === "" ? "" : ` in ${before.slice(-24)}`;
      yield { name: `${name}${place}`, bytes: put(write, maxValues - spent) };
      if (index === 0 && isDearest) yield { name: `more ${name}${place}`, bytes: put(write, Infinity) };
    }
  }
}

/** Reads an input in several ways, each in a turn of its own, as with as many inputs. */
export async function each<T>(ways: readonly T[], read: (way: T) => unknown): Promise<void> {
  for (const way of ways) {
    await nextTurn();
    try {
      read(way);
    } catch {
      // Refused.
    }
  }
}
