import { spawn } from "node:child_process";
import { z } from "zod";
import { parseJson } from "../../lib/parse-json.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import type { RegistryLogin } from "./login.ts";

const outputSchema = z.object({ Username: z.string().default(""), Secret: z.string().min(1) });
/** Output of a helper that has no login, by the protocol of credential helpers. */
const NOT_FOUND = /credentials not found/i;
/** User name that marks the secret as an identity token. */
const TOKEN_USER = "<token>";
const MAX_OUTPUT_LENGTH = 65_536;

/** Asks `docker-credential-NAME` for the login of a server. Errors: exit code 3 if the helper fails. */
export async function runCredentialHelper(
  name: string,
  server: string,
  env: Io["env"],
  signal: AbortSignal,
): Promise<RegistryLogin | undefined> {
  if (!/^[\w.-]+$/.test(name)) throw failed(name, "not a valid name of a credential helper");
  const { code, output } = await run(`docker-credential-${name}`, server, env, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    throw failed(name, isMissing ? "it is not installed" : "it does not run");
  });
  if (code !== 0 && NOT_FOUND.test(output)) return undefined;
  if (code !== 0) throw failed(name, `it ended with exit code ${code}`);
  const login = outputSchema.safeParse(parseJson(output, "short")).data;
  if (!login) throw failed(name, "its output has no login");
  const { Username: username, Secret: secret } = login;
  if (username === TOKEN_USER) return { kind: "identity", identityToken: secret };
  return { kind: "basic", username, password: secret };
}

function failed(name: string, reason: string): Failure {
  return new Failure(`The credential helper docker-credential-${name} failed: ${reason}.`, {
    exitCode: EXIT.unauthorized,
  });
}

async function run(
  program: string,
  input: string,
  env: Io["env"],
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn(program, ["get"], { env, signal, stdio: ["pipe", "pipe", "ignore"] });
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
