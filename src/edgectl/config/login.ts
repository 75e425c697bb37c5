import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { ConfigFile } from "./config-file.ts";
import { hostname } from "node:os";
import type { LoginKey } from "../../protocol/people/login-request.ts";
import type { ApiClient } from "../api/client.ts";
import { askedPauseMs, isPassing } from "../api/network-failure.ts";
import { fetchLoginKey, startLogin } from "../api/people.ts";
import { ServiceFailure } from "../api/service-failure.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";

const HINT = "Give the address of the service, such as https://edge.example.com.";

/** Parses the service's address; removes a trailing slash. Errors: exit code 2. */
export function parseBaseUrl(text: string): string {
  const trimmed = text.trim();
  let url: URL;
  try {
    url = new URL(trimmed);
  } catch {
    throw usageFailure(`The address "${trimmed}" is not a URL.`, HINT);
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw usageFailure(`The address "${trimmed}" is neither https:// nor http://.`, HINT);
  }
  if (url.username !== "" || url.password !== "") {
    throw usageFailure("The address must not hold a user name or password.", HINT);
  }
  if (url.search !== "" || url.hash !== "") {
    throw usageFailure("The address must not hold a query or a fragment.", HINT);
  }
  return url.href.replace(/\/+$/, "");
}

/** Whether a key sent to this address travels unencrypted. */
export function isUnprotected(baseUrl: string): boolean {
  const url = new URL(baseUrl);
  const isLoopback =
    url.hostname === "localhost" || url.hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(url.hostname);
  return url.protocol === "http:" && !isLoopback;
}

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

const MAX_NAME_LENGTH = 96;

/**
 * Asks a person to confirm the log-in in a browser, and waits for it. Returns the key that was made for it. Errors: those of
 * the service if it is denied or expires.
 */
export async function loginInBrowser(io: Io, printer: Printer, client: ApiClient): Promise<LoginKey> {
  const started = await start(client);
  const { user_code, verification_url_complete, interval_s, expires_in_s, device_code } = started;
  const minutes = Math.floor(expires_in_s / 60);
  printer.note(`Open this address in a browser: ${verification_url_complete}`);
  printer.note(`Compare the code there with ${user_code}, and confirm within ${minutes} minutes.`);
  const endsAt = io.clock.monotonic() + expires_in_s * 1000;
  let pauseMs = interval_s * 1000;
  for (;;) {
    await io.clock.sleep(pauseMs, io.interrupted);
    pauseMs = interval_s * 1000;
    try {
      const result = await fetchLoginKey(client, device_code);
      if ("api_key" in result) return result;
    } catch (error) {
      // The request waits for the person meanwhile, and a key whose response was lost is returned again.
      const leftMs = endsAt - io.clock.monotonic();
      if (!isPassing(error) || leftMs <= 0) throw error;
      pauseMs = Math.max(pauseMs, Math.min(askedPauseMs(error), leftMs));
    }
  }
}

async function start(client: ApiClient) {
  try {
    return await startLogin(client, clientName());
  } catch (error) {
    if (!(error instanceof ServiceFailure) || error.code !== "NotFound") throw error;
    throw new Failure(`${client.baseUrl} is too old for a log-in in a browser.`, {
      exitCode: EXIT.failed,
      hint: "Create an API key on the server with `edge-control key create`, and log in with --with-key.",
      cause: error,
    });
  }
}

/** What the person sees in the console, without characters that the service refuses. */
function clientName(): string {
  const name = hostname().replaceAll(/[^\x21-\x7e]/g, "");
  return `edgectl on ${name === "" ? "an unnamed machine" : name}`.slice(0, MAX_NAME_LENGTH);
}
