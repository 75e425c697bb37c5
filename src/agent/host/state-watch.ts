import { accessSync, closeSync, constants, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { userInfo } from "node:os";
import { type Clock, pause } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { describeDiskFault } from "../core/host/disk-fault.ts";

/** Between two looks at the mount, which write nothing. */
const LOOK_INTERVAL_MS = 30_000;
/** Between two writes for people who ask. */
const ASK_INTERVAL_MS = 5_000;
/** Between two writes while nothing is wrong: flash wears out. */
const WRITE_INTERVAL_MS = 3_600_000;

/** Why the state cannot be written, for people. */
export interface StateFault {
  readonly text: string;
  readonly next: string;
}

interface StateWatchOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Watches whether the agent can write its state. ext4 makes a file system read-only after an error (`errors=remount-ro`),
 * the usual end of an SD card: the agent runs on then, and says so.
 */
export class StateWatch {
  readonly #options: StateWatchOptions;
  /** The system's error code. */
  #code: string | undefined;
  readonly #watchers = new Set<() => void>();
  /** When it was last tried to write, in monotonic milliseconds. */
  #wroteAt: number | undefined;

  constructor(options: StateWatchOptions) {
    this.#options = options;
  }

  /** The fault as last seen; `undefined` if the state can be written. */
  get fault(): StateFault | undefined {
    return this.#code === undefined
      ? undefined
      : describeDiskFault(this.#code, this.#options.directory, userInfo().username);
  }

  /** Calls `watcher` when a fault begins or is over, until disposed. */
  onChange(watcher: () => void): Disposable {
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => this.#watchers.delete(watcher) };
  }

  /** Writes a file, unless that was done a moment ago, and returns the fault. */
  ask(): StateFault | undefined {
    return this.#look(ASK_INTERVAL_MS);
  }

  /** Must be called after a write of the store has failed. Returns the fault, if it is the disk's. */
  onFailedWrite(): StateFault | undefined {
    return this.#look(0);
  }

  /** Looks at intervals until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // What failed is believed only when a write works again.
      this.#look(this.#code === undefined ? WRITE_INTERVAL_MS : 0);
      await pause(this.#options.clock, LOOK_INTERVAL_MS, signal);
    }
  }

  /** @param maxAgeMs how old the last write may be; Linux 6.15 does not show an ext4 that has failed as read-only */
  #look(maxAgeMs: number): StateFault | undefined {
    const { directory, clock } = this.#options;
    const readOnly = readOnlyCode(directory);
    if (readOnly !== undefined) this.#note(readOnly);
    else if (this.#wroteAt === undefined || clock.monotonic() - this.#wroteAt >= maxAgeMs) {
      this.#wroteAt = clock.monotonic();
      this.#note(writeCode(directory));
    }
    return this.fault;
  }

  #note(code: string | undefined): void {
    if (code === this.#code) return;
    this.#code = code;
    for (const watcher of this.#watchers) watcher();
    const { logger, directory } = this.#options;
    if (code === undefined) return logger.info({ directory }, "the state can be written again");
    const { text, next } = describeDiskFault(code, directory, userInfo().username);
    logger.error(
      { reason: text, hint: next },
      "the agent cannot write its state: nothing can be deployed until it can",
    );
  }
}

function readOnlyCode(directory: string): string | undefined {
  try {
    accessSync(directory, constants.W_OK);
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}

function writeCode(directory: string): string | undefined {
  const path = join(directory, ".write-test");
  try {
    const file = openSync(path, "w", 0o600);
    try {
      writeSync(file, Buffer.alloc(4096));
      fsyncSync(file);
    } finally {
      closeSync(file);
      rmSync(path, { force: true });
    }
    return undefined;
  } catch (error) {
    return codeOf(error);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown";
}
