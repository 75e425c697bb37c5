import { hostname } from "node:os";
import type { LoginKey } from "../../protocol/login-request.ts";
import type { ApiClient } from "../api/client.ts";
import { askedPauseMs, isPassing } from "../api/is-passing.ts";
import { fetchLoginKey, startLogin } from "../api/people.ts";
import { ServiceFailure } from "../api/service-failure.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import type { Io } from "../io.ts";
import type { Printer } from "../printer.ts";

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
