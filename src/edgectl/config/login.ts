import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { parseBaseUrl } from "./base-url.ts";
import type { ConfigFile } from "./config-file.ts";

/** The server and the API key to use. */
export interface Login {
  readonly url: string;
  readonly apiKey: string;
  /** Where each of the two comes from, for `whoami`. */
  readonly urlFrom: "--url" | "EDGECTL_URL" | "login";
  readonly keyFrom: "EDGECTL_API_KEY" | "login";
}

interface LoginSources {
  readonly urlOption: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly config: Pick<ConfigFile, "read">;
}

/**
 * Resolves address and key. The option takes precedence over the environment, and that over the stored login. The
 * stored key is only used for the server it was stored for. Errors: exit code 3 if either is missing.
 */
export async function resolveLogin({ urlOption, env, config }: LoginSources): Promise<Login> {
  const envUrl = env.EDGECTL_URL || undefined;
  const envKey = env.EDGECTL_API_KEY || undefined;
  const needsFile = envKey === undefined || (urlOption ?? envUrl) === undefined;
  const stored = needsFile ? await config.read() : undefined;
  const givenUrl = urlOption ?? envUrl ?? stored?.url;
  if (givenUrl === undefined) throw notLoggedIn();
  const url = parseBaseUrl(givenUrl);
  const urlFrom = urlOption === undefined ? (envUrl === undefined ? "login" : "EDGECTL_URL") : "--url";
  if (envKey !== undefined) return { url, urlFrom, apiKey: parseApiKey(envKey), keyFrom: "EDGECTL_API_KEY" };
  if (!stored) throw notLoggedIn();
  if (new URL(stored.url).origin !== new URL(url).origin) {
    throw new Failure(`There is no API key for ${url}: the stored login is for ${stored.url}.`, {
      exitCode: EXIT.unauthorized,
      hint: `Log in there with \`edgectl login --url ${url}\`, or set EDGECTL_API_KEY.`,
    });
  }
  return { url, urlFrom, apiKey: parseApiKey(stored.api_key), keyFrom: "login" };
}

const HEADER_SAFE = /^[\x21-\x7e]{1,512}$/;
const KEY_HINT = "Copy the key again: one line beginning with ek_.";

/**
 * Returns an API key without surrounding white space. Checked here because `fetch` would quote the value in its error.
 * Errors: exit code 3 for a text that cannot be a key; the message does not repeat the text, which may be a real key.
 */
export function parseApiKey(text: string): string {
  const key = text.trim();
  if (key === "") throw new Failure("The API key is empty.", { exitCode: EXIT.unauthorized, hint: KEY_HINT });
  if (!HEADER_SAFE.test(key)) {
    throw new Failure("The API key holds characters no key has.", { exitCode: EXIT.unauthorized, hint: KEY_HINT });
  }
  return key;
}

function notLoggedIn(): Failure {
  return new Failure("You are not logged in.", {
    exitCode: EXIT.unauthorized,
    hint: "Log in with `edgectl login --url URL`, or set EDGECTL_URL and EDGECTL_API_KEY.",
  });
}
