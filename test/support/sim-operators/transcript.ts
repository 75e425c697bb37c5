import { expect } from "vitest";
import type { ApiClient, ApiResponse } from "../api-client.ts";
import type { OperatorServer } from "./operator-server.ts";

/** What an acceptance test asks the service, what came back, and which requests the operators got for it. */
export class Transcript {
  readonly #lines: string[] = [];
  readonly #servers: readonly OperatorServer[];

  constructor(servers: readonly OperatorServer[]) {
    this.#servers = servers;
  }

  title(text: string): void {
    this.#lines.push("", `== ${text}`);
  }

  note(text: string): void {
    this.#lines.push(`   ${text}`);
  }

  /**
   * Asks, and notes the answer and the requests for it. Fails unless these are as given.
   *
   * @param expected how many requests there are of each kind, such as `{ "GET /v1/Sims/{id}": 1 }`
   * @param show what of the response is noted besides its status
   */
  async ask(
    what: string,
    call: () => Promise<ApiResponse>,
    expected: Readonly<Record<string, number>>,
    show: (body: ApiResponse["body"]) => unknown = () => undefined,
  ): Promise<ApiResponse> {
    const before = this.#servers.map(({ requests }) => requests.length);
    const response = await call();
    const made = this.#servers.flatMap(({ requests }, index) => requests.slice(before[index]));
    const shown = show(response.body);
    this.note(`${what} -> ${response.status}${shown === undefined ? "" : ` ${JSON.stringify(shown)}`}`);
    this.note(`     requests: ${describe(countKinds(made))}`);
    expect(countKinds(made), what).toEqual(expected);
    return response;
  }

  toString(): string {
    return this.#lines.join("\n");
  }
}

/** Counts requests by method and path, with ids as `{id}` and without queries. */
function countKinds(requests: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const request of requests) {
    const [path = ""] = request.split("?");
    const kind = path.replaceAll(/\/(?:H[A-Z][0-9a-f]{32}|\d+)(?=\/|$)/g, "/{id}");
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

function describe(counts: Readonly<Record<string, number>>): string {
  const texts = Object.entries(counts).map(([kind, count]) => (count === 1 ? kind : `${count} x ${kind}`));
  return texts.length === 0 ? "none" : texts.join(", ");
}

/** The API as texts such as `PATCH /v1/assets/GW-1 {…}`. */
export function call(api: ApiClient, text: string): () => Promise<ApiResponse> {
  const [, method = "", path = "", body] = /^(\w+) (\S+)(?: (.*))?$/.exec(text) ?? [];
  const parsed: unknown = body === undefined ? undefined : JSON.parse(body);
  switch (method) {
    case "GET":
      return () => api.get(path);
    case "POST":
      return () => api.post(path, parsed);
    case "PATCH":
      return () => api.patch(path, parsed);
    default:
      throw new Error(`unknown method ${method}`);
  }
}
