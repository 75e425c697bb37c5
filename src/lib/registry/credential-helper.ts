import { z } from "zod";
import { type Clock, deadline } from "../clock.ts";
import { parseJson } from "../parse-json.ts";
import type { RegistryLogin } from "./login.ts";

/** Runs a credential helper by its short name, such as `pass`. Resolves with the login for a server, or `undefined`. */
export type RunHelper = (name: string, server: string, signal: AbortSignal) => Promise<RegistryLogin | undefined>;

export interface HelperOptions {
  readonly clock: Clock;
  /** Timeout of a helper, which may use the network; in milliseconds. Absent where it may ask a person for a passphrase. */
  readonly timeoutMs?: number;
  /** Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Makes the error of a helper that fails. */
  readonly toError: (message: string) => Error;
}

const outputSchema = z.object({ Username: z.string().default(""), Secret: z.string().min(1) });

/** Output of a helper that has no login, by the protocol of credential helpers. */
const NOT_FOUND = /credentials not found/i;
/** User name that marks the secret as an identity token. */
const TOKEN_USER = "<token>";
const MAX_OUTPUT_LENGTH = 65_536;

/**
 * Returns a function that runs credential helpers: programs named `docker-credential-NAME` on the `PATH` that read a server
 * from standard input and print a login as JSON.
 */
export function createHelperClient({ clock, timeoutMs, env, toError }: HelperOptions): RunHelper {
  return async (name, server, signal) => {
    const failed = (reason: string): Error => toError(`credential helper docker-credential-${name} failed: ${reason}`);
    if (!/^[\w.-]+$/.test(name)) throw failed("not a valid name of a credential helper");
    using limit = timeoutMs === undefined ? undefined : deadline(clock, timeoutMs, signal);
    const work = run(`docker-credential-${name}`, server, { env, signal: limit?.signal ?? signal });
    const { code, output } = await work.catch((error: unknown) => {
      signal.throwIfAborted();
      if (limit?.signal.aborted) throw failed(`it did not answer within ${(timeoutMs ?? 0) / 1000} s`);
      const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
      throw failed(isMissing ? "it is not installed" : "it does not run");
    });
    if (code !== 0 && NOT_FOUND.test(output)) return undefined;
    if (code !== 0) throw failed(`it ended with exit code ${code}`);
    const login = outputSchema.safeParse(parseJson(output, "short")).data;
    if (!login) throw failed("its output has no login");
    const { Username: username, Secret: secret } = login;
    if (username === TOKEN_USER) return { kind: "identity", username: "", identityToken: secret };
    return { kind: "basic", username, password: secret };
  };
}

async function run(
  program: string,
  input: string,
  { env, signal }: { readonly env: HelperOptions["env"]; readonly signal: AbortSignal },
): Promise<{ readonly code: number; readonly output: string }> {
  // Loaded only if needed, to save memory: most devices have no helper.
  const { spawn } = await import("node:child_process");
  const child = spawn(program, ["get"], {
    ...(env && { env }),
    signal,
    killSignal: "SIGKILL",
    stdio: ["pipe", "pipe", "ignore"],
  });
  let output = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    output += text.slice(0, MAX_OUTPUT_LENGTH - output.length);
  });
  // A helper may exit without reading its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
