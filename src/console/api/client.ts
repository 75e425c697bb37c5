import { noteResponse, noteUnreachable } from "./reachability.ts";
import { ApiFailure, readFailure } from "./failure.ts";
import type { Operations } from "../../protocol/api-types.ts";

export type OperationName = keyof Operations;

type Part<Name extends string, Value> = [Value] extends [undefined]
  ? { readonly [key in Name]?: undefined }
  : { readonly [key in Name]: Value };

/** What a call of an operation consists of. */
export type CallOptions<Name extends OperationName> = {
  readonly signal?: AbortSignal | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Operations[Name]["query"];
} & Part<"body", Operations[Name]["body"]> &
  Part<"path", Operations[Name]["path"]>;

/** The options, which may be left out where none is required. */
export type Arguments<Name extends OperationName> = [Operations[Name]["path"], Operations[Name]["body"]] extends [
  undefined,
  undefined,
]
  ? [options?: CallOptions<Name>]
  : [options: CallOptions<Name>];

/** Performs an operation of the API and returns the body of the response. Throws `Failure`. */
export async function call<Name extends OperationName>(
  name: Name,
  ...[options]: Arguments<Name>
): Promise<Operations[Name]["response"]> {
  const response = await send(name, ...([options] as Arguments<Name>));
  // Not only of 204: a proxy may leave out the body of others.
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as Operations[Name]["response"];
}

/** Performs an operation of the API and returns the response, whose body is a stream. Throws `Failure`. */
export async function send<Name extends OperationName>(name: Name, ...[options]: Arguments<Name>): Promise<Response> {
  const [method = "", template = ""] = name.split(" ");
  const { path, query, body, headers, signal } = (options ?? {}) as CallOptions<OperationName>;
  const request: RequestInit = {
    method,
    credentials: "same-origin",
    headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  };
  return await perform(urlOf(template, path ?? {}, { ...query }), request);
}

async function perform(url: string, request: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, request);
  } catch (error) {
    if (request.signal?.aborted) throw error;
    noteUnreachable();
    throw new ApiFailure("Unreachable", "The server cannot be reached.", 0);
  }
  noteResponse(response);
  if (!response.ok) throw await readFailure(response);
  return response;
}

function urlOf(
  template: string,
  path: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string | undefined>>,
): string {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(path[name] ?? ""));
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, value);
  return parameters.size > 0 ? `${filled}?${parameters}` : filled;
}
