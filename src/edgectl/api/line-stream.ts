import type { Clock } from "../../lib/clock.ts";
import type { ApiClient, ApiRequest } from "./client.ts";
import { NetworkFailure } from "./network-failure.ts";
import { toServiceFailure } from "./service-failure.ts";
import { IdleTimeout } from "./idle-timeout.ts";

const MAX_LINE_LENGTH = 1024 * 1024;

/**
 * Lines of an answer that comes bit by bit, without the empty ones that keep it alive. Errors: `ServiceFailure` where
 * the answer is an error, `NetworkFailure` where there is none, or it breaks or falls silent.
 */
export async function* readLines(
  client: ApiClient,
  request: ApiRequest,
  options: { readonly clock: Clock; readonly signal: AbortSignal; readonly type: string },
): AsyncGenerator<string> {
  using connection = new IdleTimeout(options.clock, options.signal);
  connection.touch();
  const response = await client.send(request, connection.signal);
  const type = response.headers.get("content-type") ?? "";
  if (!response.ok || !type.startsWith(options.type)) throw toServiceFailure(response, await client.text(response));
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      connection.touch();
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (rest.length > MAX_LINE_LENGTH)
        throw new NetworkFailure(client.baseUrl, "a line is too long", { maybeSent: true });
      yield* lines.filter((line) => line.trim() !== "");
    }
  } catch (error) {
    throw client.toFailure(error);
  }
  if (rest.trim() !== "") yield rest;
}
