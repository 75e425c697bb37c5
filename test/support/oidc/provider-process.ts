import { join } from "node:path";
import { start } from "../command.ts";

const MAIN = join(import.meta.dirname, "provider-main.ts");
export const CLIENT_SECRET = "secret-of-the-client-in-this-test";

export interface RunningProvider extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`. */
  readonly issuer: string;
  /** Ends the process. Resolves when it is gone. */
  stop(): Promise<void>;
}

/** Starts a provider in a process of its own, on a free loopback port. @param clockShiftS how far its clock is ahead */
export async function startProvider(redirectUri: string, clockShiftS = 0): Promise<RunningProvider> {
  const env = {
    OIDC_REDIRECT_URI: redirectUri,
    OIDC_SECRET: CLIENT_SECRET,
    OIDC_CLOCK_SHIFT_S: String(clockShiftS),
    NODE_ENV: "test",
  };
  const child = start(process.execPath, [MAIN], { env });
  await child.waitForOutput(/issuer \S+\n/);
  const [, issuer = ""] = /issuer (\S+)\n/.exec(child.stdout()) ?? [];
  return {
    issuer,
    stop: async () => child[Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
