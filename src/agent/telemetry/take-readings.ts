import { execFile } from "node:child_process";
import type { Logger } from "../../lib/logger.ts";
import { MEASURE_COMMAND } from "./command.ts";
import { NO_READINGS, type Readings, readingsSchema } from "./readings.ts";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";

/** A query for the device state times out after ten seconds. */
const MEASURE_TIMEOUT_MS = 7_000;
const MAX_OUTPUT_BYTES = 256 * 1024;

export interface TakeReadingsOptions {
  /** Path of the program that has `MEASURE_COMMAND`. */
  readonly program: string;
  readonly logger: Logger;
}

/**
 * Measures the machine in a child process: the library would keep 19 MB of the daemon's memory for an occasional query.
 * Rejects with the signal's reason when aborted; otherwise what cannot be measured is `null`.
 */
export async function takeReadings({ program, logger }: TakeReadingsOptions, signal: AbortSignal): Promise<Readings> {
  try {
    return readingsSchema.parse(parseBoundedJson(await run(program, signal), "file"));
  } catch (error) {
    signal.throwIfAborted();
    logger.warn({ err: error }, "failed to measure the machine; its readings are left out this time");
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
      // Not the daemon's environment: the library runs programs of the system.
      env: { PATH: process.env["PATH"] ?? "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C" },
    },
    (error, stdout) => (error ? reject(error) : resolve(stdout)),
  );
  return promise;
}
