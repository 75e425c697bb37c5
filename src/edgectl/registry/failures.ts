import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { parseBoundedJson } from "../../protocol/bounded-json.ts";

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
export function denied(host: string, hasLogin: boolean): Failure {
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
export async function refusal(host: string, what: string, response: Response, hasLogin: boolean): Promise<Failure> {
  if (response.status === 401 || response.status === 403) {
    await response.body?.cancel().catch(() => undefined);
    return denied(host, hasLogin);
  }
  const reason = await reasonOf(response);
  return new Failure(`The registry ${host} responded to ${what} with HTTP ${response.status}${reason}.`, {
    exitCode: response.status === 404 ? EXIT.notFound : response.status >= 500 ? EXIT.unreachable : EXIT.failed,
  });
}

async function reasonOf(response: Response): Promise<string> {
  let text = "";
  try {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
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
