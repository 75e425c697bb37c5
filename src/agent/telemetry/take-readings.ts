import { execFile } from "node:child_process";
import type { Logger } from "../../lib/logger.ts";
import { MEASURE_COMMAND } from "./command.ts";
import { NO_READINGS, type Readings, readingsSchema } from "./readings.ts";

/** Whoever asks for the state of a device waits ten seconds for it. */
const MEASURE_TIMEOUT_MS = 7_000;
const MAX_OUTPUT_BYTES = 256 * 1024;

export interface TakeReadingsOptions {
  /** The program that knows `MEASURE_COMMAND`. */
  readonly program: string;
  readonly logger: Logger;
}

/**
 * Measures the machine in a process of its own, which ends with it: the library that knows how would keep 19 MB of the
 * daemon's memory for good, for what is asked for now and then. Rejects with the signal's reason when aborted; otherwise what cannot be
 * measured is `null`.
 */
export async function takeReadings({ program, logger }: TakeReadingsOptions, signal: AbortSignal): Promise<Readings> {
  try {
    return readingsSchema.parse(JSON.parse(await run(program, signal)));
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ err: error }, "the machine could not be measured; its readings are left out this time");
    return NO_READINGS;
  }
}

function run(program: string, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  execFile(
    process.execPath,
    [...process.execArgv, program, MEASURE_COMMAND],
    {
      signal,
      timeout: MEASURE_TIMEOUT_MS,
      killSignal: "SIGKILL",
      maxBuffer: MAX_OUTPUT_BYTES,
      // Nothing of the daemon's own environment: the library runs programs of the system.
      env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C" },
    },
    (error, stdout) => (error ? reject(error) : resolve(stdout)),
  );
  return promise;
}
