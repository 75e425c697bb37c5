import { expect, test } from "vitest";
import { FetchTransport } from "../../../../src/edgectl/registry/session.ts";

const { signal } = new AbortController();
const GET = {
  method: "GET",
  url: new URL("https://registry.example.com/v2/app/blobs/x"),
  headers: { Authorization: "Bearer t" },
} as const;

/** A `fetch` that redirects to the locations in turn, and then responds. */
function redirecting(...locations: readonly string[]) {
  const left = [...locations];
  const asked: { readonly url: string; readonly authorization: string | null }[] = [];
  const fetch: typeof globalThis.fetch = async (url, init) => {
    asked.push({ url: new Request(url).url, authorization: new Headers(init?.headers).get("authorization") });
    const location = left.shift();
    return location === undefined ? new Response("bytes") : new Response(null, { status: 307, headers: { location } });
  };
  return { asked, transport: new FetchTransport({ fetch, interrupted: signal }) };
}

test("a redirect to another origin is followed without the credentials", async () => {
  const { asked, transport } = redirecting("/v2/other", "https://user:word@storage.example.net/x?signed");
  expect(await transport.send(GET)).toMatchObject({ status: 200, isCrossOrigin: true });
  expect(asked).toEqual([
    { url: GET.url.href, authorization: "Bearer t" },
    { url: "https://registry.example.com/v2/other", authorization: "Bearer t" },
    { url: "https://storage.example.net/x?signed", authorization: null },
  ]);
});

test.each([
  ["out of TLS", ["http://registry.example.com/x"], /without TLS/],
  ["to something else than HTTP", ["file:///etc/passwd"], /not HTTP/],
  ["in a circle", Array.from({ length: 6 }, () => "/v2/again"), /more than 5 redirects/],
])("a redirect %s is not followed", async (_what, locations, message) => {
  const { asked, transport } = redirecting(...locations);
  await expect(transport.send(GET)).rejects.toMatchObject({ exitCode: 1, message: expect.stringMatching(message) });
  expect(asked).toHaveLength(locations.length);
});
