import { z } from "zod";
import type { Clock } from "../../../lib/clock.ts";
import { deadline } from "../../../lib/clock.ts";
import { parseJson } from "../../../lib/parse-json.ts";
import { RegistryError } from "../registry-error.ts";
import type { AskHelper } from "./docker-credentials.ts";

const answerSchema = z.object({ Username: z.string().default(""), Secret: z.string().min(1) });

/** What helpers say where there is no login, as their protocol has it. */
const NOT_FOUND = /credentials not found/i;
/** In the place of a user name: the secret is an identity token. */
const TOKEN_USER = "<token>";
const DEFAULT_TIMEOUT_MS = 20_000;
const MAX_ANSWER_BYTES = 65_536;

/**
 * Asks credential helpers: programs called `docker-credential-NAME` on the `PATH` that are told a server on standard
 * input and answer with a login in JSON.
 *
 * @param timeoutMs how long a helper may take, which may well ask over the network; in milliseconds
 */
export function createHelperClient(clock: Clock, timeoutMs: number = DEFAULT_TIMEOUT_MS): AskHelper {
  return async (name, server, signal) => {
    if (!/^[\w.-]+$/.test(name)) throw failed(name, "that is no name of a credential helper");
    using limit = deadline(clock, timeoutMs, signal);
    const { code, output } = await run(`docker-credential-${name}`, server, limit.signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (limit.signal.aborted) throw failed(name, `it did not answer within ${timeoutMs / 1000} s`);
      throw failed(
        name,
        (error as NodeJS.ErrnoException).code === "ENOENT" ? "it is not installed" : "it does not run",
      );
    });
    if (code !== 0 && NOT_FOUND.test(output)) return undefined;
    if (code !== 0) throw failed(name, `it ended with exit code ${code}`);
    const answer = answerSchema.safeParse(parseJson(output)).data;
    if (!answer) throw failed(name, "it answered with something that is no login");
    const { Username: username, Secret: secret } = answer;
    if (username === TOKEN_USER) return { kind: "identity", username: "", identityToken: secret };
    return { kind: "basic", username, password: secret };
  };
}

// Helpers of clouds fetch what they answer: what failed may work the next time.
function failed(name: string, reason: string): RegistryError {
  return new RegistryError("registry_unreachable", `the credential helper docker-credential-${name} failed: ${reason}`);
}

async function run(program: string, input: string, signal: AbortSignal): Promise<{ code: number; output: string }> {
  // Loaded only where a helper is configured: most devices have none, and memory is short.
  const { spawn } = await import("node:child_process");
  const child = spawn(program, ["get"], { signal, killSignal: "SIGKILL", stdio: ["pipe", "pipe", "ignore"] });
  let output = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (text: string) => {
    output += text.slice(0, MAX_ANSWER_BYTES - output.length);
  });
  // A helper need not read what it is told.
  child.stdin.on("error", () => undefined);
  child.stdin.end(input);
  return await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
