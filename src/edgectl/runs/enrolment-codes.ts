import { type FileHandle, open, rm } from "node:fs/promises";
import { csvTime, toCsvLine } from "../../lib/csv.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import type { ApiClient } from "../api/client.ts";
import { createEnrolmentCode, type EnrolmentCode } from "../api/assets.ts";
import { askedPauseMs } from "../api/network-failure.ts";
import type { Context } from "../context.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";

/** Longest pause that the service may ask for between two codes. Beyond it the command ends, and says so. */
const MAX_PAUSE_MS = 60_000;

/** A code with the name of its asset. */
export interface NamedCode extends EnrolmentCode {
  readonly name: string;
}

/** A new CSV file with enrolment codes, which only its owner can read. One that stays without a code is removed. */
export class CodeFile implements AsyncDisposable {
  readonly path: string;
  /** Number of codes in it. */
  count = 0;
  readonly #file: FileHandle;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Errors: exit code 2 for a file that is there already, whose codes would be lost, or that cannot be made. */
  static async create(path: string): Promise<CodeFile> {
    try {
      return new CodeFile(path, await open(path, "wx", 0o600));
    } catch (error) {
      if (codeOf(error) === "EEXIST") throw usageFailure(`${path} exists already.`, "Name a file that does not.");
      throw usageFailure(`${path} cannot be written (${codeOf(error)}).`);
    }
  }

  /** Adds a code, which is in the file when this resolves. */
  async add({ serial_number: serialNumber, name, code, expires_at: expiresAt }: NamedCode): Promise<void> {
    const header = this.count === 0 ? toCsvLine(["serial_number", "name", "code", "valid_until"]) : "";
    try {
      await this.#file.appendFile(header + toCsvLine([serialNumber, name, code, csvTime(expiresAt)]));
    } catch (error) {
      throw new Failure(`${this.path} cannot be written (${codeOf(error)}).`, {
        exitCode: EXIT.failed,
        hint: "Make the codes that it lacks again: edgectl assets code ASSET…",
        cause: error,
      });
    }
    this.count++;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
    if (this.count === 0) await rm(this.path);
  }
}

/** Makes an enrolment code, also where the service asks for a pause between many of them. */
export async function issueCode(
  { io, printer }: Context,
  client: ApiClient,
  asset: string,
  validS: number | undefined,
): Promise<EnrolmentCode> {
  for (;;) {
    try {
      return await createEnrolmentCode(client, asset, validS);
    } catch (error) {
      const pauseMs = askedPauseMs(error);
      if (pauseMs === 0 || pauseMs > MAX_PAUSE_MS) throw error;
      printer.note(`The service asks for a pause of ${formatDuration(pauseMs / 1000)}.`);
      await io.clock.sleep(pauseMs, io.interrupted);
    }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown reason";
}
