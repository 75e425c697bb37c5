import { z } from "zod";
import type { Clock } from "../../../lib/clock.ts";
import { deadline } from "../../../lib/clock.ts";
import { parseJson } from "../../../lib/parse-json.ts";
import { RegistryError } from "../registry-error.ts";
import type { RunHelper } from "./docker-credentials.ts";

const outputSchema = z.object({ Username: z.string().default(""), Secret: z.string().min(1) });

/** Output of a helper that has no login, by the protocol of credential helpers. */
const NOT_FOUND = /credentials not found/i;
/** User name that marks the secret as an identity token. */
const TOKEN_USER = "<token>";
const DEFAULT_TIMEOUT_MS = 20_000;
const MAX_OUTPUT_LENGTH = 65_536;

/**
 * Returns a function that runs credential helpers: programs named `docker-credential-NAME` on the `PATH` that read a server
 * from standard input and print a login as JSON.
 *
 * @param timeoutMs timeout of a helper, which may use the network; in milliseconds
 */
export function createHelperClient(clock: Clock, timeoutMs: number = DEFAULT_TIMEOUT_MS): RunHelper {
  return async (name, server, signal) => {
    if (!/^[\w.-]+$/.test(name)) throw failed(name, "not a valid name of a credential helper");
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
    const login = outputSchema.safeParse(parseJson(output, "short")).data;
    if (!login) throw failed(name, "its output holds no login");
    const { Username: username, Secret: secret } = login;
    if (username === TOKEN_USER) return { kind: "identity", username: "", identityToken: secret };
    return { kind: "basic", username, password: secret };
  };
}

// Retryable: helpers of cloud providers use the network.
function failed(name: string, reason: string): RegistryError {
  return new RegistryError("registry_unreachable", `the credential helper docker-credential-${name} failed: ${reason}`);
}

async function run(program: string, input: string, signal: AbortSignal): Promise<{ code: number; output: string }> {
  // Loaded only if needed, to save memory: most devices have no helper.
  const { spawn } = await import("node:child_process");
  const child = spawn(program, ["get"], { signal, killSignal: "SIGKILL", stdio: ["pipe", "pipe", "ignore"] });
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
