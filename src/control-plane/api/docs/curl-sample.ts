/** Values of path parameters in samples. */
const PARAMETERS: Readonly<Record<string, string>> = {
  asset_id: "GW-2026-000123",
  name: "node-red",
  deployment_id: "dep_01KAN9BZ5V3S0Y4M6T8R2X7Q1C",
};

/** Query that makes an endpoint with such a response a stream. */
const STREAM_QUERIES: Readonly<Record<string, string>> = {
  "text/event-stream": "",
  "application/x-ndjson": "?follow=true",
};

export interface SampledOperation {
  readonly method: string;
  /** Path with parameters as `:name`. */
  readonly url: string;
  /** Media types of the successful response. */
  readonly mediaTypes: readonly string[];
  /** Example of the request's body, if it has one. */
  readonly body: unknown;
}

/**
 * The `x-codeSamples` of an endpoint that streams its response; `undefined` for any other. The samples that the reference
 * page makes itself lack `-N`, without which curl shows nothing before its buffer is full.
 */
export function streamSamples({ method, url, mediaTypes, body }: SampledOperation): readonly object[] | undefined {
  const query = mediaTypes.map((type) => STREAM_QUERIES[type]).find((found) => found !== undefined);
  if (query === undefined) return undefined;
  const path = url.replaceAll(/:(\w+)/g, (_match, name: string) => PARAMETERS[name] ?? `{${name}}`);
  const address = `"$API${path}${query}"`;
  const lines = [
    `curl -N ${method === "GET" || (method === "POST" && body !== undefined) ? "" : `-X ${method} `}${address}`,
    '-H "X-API-Key: $KEY"',
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ];
  return [{ lang: "shell", label: "curl", source: lines.join(" \\\n  ") }];
}
