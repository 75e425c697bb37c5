import { chmod, mkdir, readFile, rm, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../lib/parse-json.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";
import { EXIT, Failure } from "../failure.ts";
import type { Io } from "../io.ts";

const configSchema = z.object({ url: z.string().min(1), api_key: z.string().min(1) });
export type StoredLogin = z.output<typeof configSchema>;

/** The file with the stored login. Only its owner can read it; it is replaced atomically. */
export class ConfigFile {
  readonly path: string;
  readonly #directory: string;

  constructor(io: Pick<Io, "env" | "homeDirectory">) {
    const xdg = io.env.XDG_CONFIG_HOME;
    // The XDG base directory specification requires a relative path to be ignored.
    const base = xdg && isAbsolute(xdg) ? xdg : join(io.homeDirectory, ".config");
    this.#directory = join(base, "edgectl");
    this.path = join(this.#directory, "config.json");
  }

  /** Returns the stored login; `undefined` without a file. Errors: exit code 3 for an unusable file. */
  async read(): Promise<StoredLogin | undefined> {
    let text: string;
    try {
      text = await readFile(this.path, "utf8");
    } catch (error) {
      if (isErrno(error, "ENOENT")) return undefined;
      throw this.#unusable(`cannot be read (${reasonOf(error)})`, error);
    }
    const result = configSchema.safeParse(parseJson(text, "file"));
    // Messages of the parser and the schema are not repeated: they may quote the key.
    if (!result.success) throw this.#unusable("is damaged");
    return result.data;
  }

  /** Whether other users of this machine may read the key. */
  async isExposed(): Promise<boolean> {
    try {
      return ((await stat(this.path)).mode & 0o077) !== 0;
    } catch {
      return false;
    }
  }

  async write(login: StoredLogin): Promise<void> {
    try {
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await chmod(this.#directory, 0o700);
      writeAtomically(this.path, `${JSON.stringify(login, undefined, 2)}\n`, { mode: 0o600 });
    } catch (error) {
      throw new Failure(`The login could not be stored in ${this.path} (${reasonOf(error)}).`, {
        exitCode: EXIT.failed,
        hint: "Check the rights on that directory, or set EDGECTL_URL and EDGECTL_API_KEY instead.",
        cause: error,
      });
    }
  }

  /** Removes the file. @returns whether it existed */
  async remove(): Promise<boolean> {
    try {
      await rm(this.path);
      return true;
    } catch (error) {
      if (isErrno(error, "ENOENT")) return false;
      throw new Failure(`${this.path} could not be removed (${reasonOf(error)}).`, { exitCode: EXIT.failed });
    }
  }

  #unusable(what: string, cause?: unknown): Failure {
    return new Failure(`${this.path} ${what}.`, {
      exitCode: EXIT.unauthorized,
      hint: "Log in again with `edgectl login`; it replaces the file.",
      cause,
    });
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "unknown reason";
}
