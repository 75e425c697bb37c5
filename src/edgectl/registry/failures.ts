import { registryHost } from "../../lib/registry/address.ts";
import type { RegistryResponse } from "../../lib/registry/http.ts";
import type { RegistryErrors, RegistryProblem } from "../../lib/registry/problem.ts";
import { BodyTooLongError } from "../../lib/registry/read-body.ts";
import { EXIT, Failure } from "../failure.ts";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";

const MAX_REASON_LENGTH = 200;

/** Such as "bad port", for one that fetch connects to nowhere. */
const PLAIN_WORDS = /^[a-z ]{1,40}$/;

/** The registry sent something that is not what it should be. */
export function wrongContent(host: string, what: string): Failure {
  return new Failure(`The registry ${host} sent ${what}.`, { exitCode: EXIT.failed });
}

/** There was no response. The code of the cause is shown, or a few plain words: other messages may quote the URL. */
export function noResponse(host: string, error: unknown): Failure {
  return new Failure(`The registry ${host} cannot be reached: ${causeOf(error)}.`, {
    exitCode: EXIT.unreachable,
    hint: "Check the name, the network, and whether the registry needs a certificate of its own (NODE_EXTRA_CA_CERTS).",
    cause: error,
  });
}

/** The registry refuses the credentials, or requires some. */
function denied(host: string, hasLogin: boolean): Failure {
  return new Failure(
    hasLogin
      ? `The registry ${host} refuses the credentials.`
      : `The registry ${host} wants credentials, and none are known.`,
    {
      exitCode: EXIT.unauthorized,
      hint: "Log in with `docker login`, or give --registry-user. To write an index, the user must be allowed to push.",
    },
  );
}

/** Turns a response that is not a success into a failure. Reads the start of its body for the reason. */
export async function refusal(
  host: string,
  what: string,
  response: RegistryResponse,
  hasLogin: boolean,
): Promise<Failure> {
  const { status, body } = response;
  if (status === 401 || status === 403) {
    body.destroy();
    return denied(host, hasLogin);
  }
  const reason = await reasonOf(body);
  return new Failure(`The registry ${host} responded to ${what} with HTTP ${status}${reason}.`, {
    exitCode: status === 404 ? EXIT.notFound : status >= 500 ? EXIT.unreachable : EXIT.failed,
  });
}

async function reasonOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  try {
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > 4096) break;
    }
    const { errors } = parseBoundedJson(text, "short") as { errors?: { message?: unknown }[] };
    const message = errors?.[0]?.message;
    return typeof message === "string" ? `: ${message.slice(0, MAX_REASON_LENGTH)}` : "";
  } catch {
    // Many registries send HTML, or nothing.
    return "";
  }
}

/** The command's errors for the registry client. */
export const registryErrors: RegistryErrors = {
  problem: toProblemFailure,
  transfer: (error, host) => {
    if (error instanceof BodyTooLongError)
      return wrongContent(host, `more than the ${error.maxBytes} bytes that are accepted`);
    return noResponse(host, error);
  },
  response: async ({ status, url, body }, { registry, login }) => {
    body.destroy();
    return status < 500
      ? denied(registryHost(registry), login !== undefined)
      : new Failure(`The token server ${url.host} responded with HTTP ${status}.`, { exitCode: EXIT.unreachable });
  },
};

function toProblemFailure(problem: RegistryProblem): Failure {
  switch (problem.kind) {
    case "token_refused":
    case "password_required":
    case "unknown_schemes":
    case "token_denied":
      return denied(registryHost(problem.access.registry), problem.access.login !== undefined);
    case "token_server_invalid":
      return wrongContent(registryHost(problem.access.registry), "a token server without an address");
    case "token_server_without_tls":
      return wrongContent(registryHost(problem.access.registry), `a token server without TLS: ${problem.host}`);
    case "token_server_foreign": {
      const host = registryHost(problem.access.registry);
      const message = `The registry ${host} names a token server that its credentials are not sent to: ${problem.host}.`;
      const hint = "It belongs to another domain. Fetch a token there and give it with --registry-token-file.";
      return new Failure(message, { exitCode: EXIT.unauthorized, hint });
    }
    case "no_token":
      return new Failure(`The token server ${problem.host} returned no token.`, { exitCode: EXIT.failed });
    case "redirect_not_http":
      return wrongContent(problem.host, "a redirect to an address that is not HTTP");
    case "redirect_without_tls":
      return wrongContent(problem.host, "a redirect to an address without TLS");
    case "too_many_redirects":
      return wrongContent(problem.host, `more than ${problem.max} redirects`);
    case "foreign_answer":
      return new Failure(`The registry ${problem.host} did not respond: ${problem.reason}.`, {
        exitCode: EXIT.unreachable,
        hint: "Something between this machine and the registry responded in its place.",
      });
  }
}

function causeOf(error: unknown): string {
  let last = error;
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException;
    if (typeof code === "string") return code;
    last = at;
  }
  if (!(last instanceof Error)) return "error";
  return PLAIN_WORDS.test(last.message) ? last.message : last.name;
}
