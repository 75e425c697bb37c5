/** Returns a command line for `sh` that sends a request with the key of the environment. */
export function toCurl(base: string, method: "GET" | "POST", path: string, body?: unknown): string {
  const parts = ["curl -H", `"X-API-Key: $EDGE_API_KEY"`];
  if (body !== undefined) parts.push("-H 'Content-Type: application/json' -d", quote(JSON.stringify(body)));
  else if (method !== "GET") parts.push("-X", method);
  return [...parts, quote(`${base}${path}`)].join(" ");
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
