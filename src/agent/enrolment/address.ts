const AGENT_PATH = "/v1/agent";
const SCHEMES: Readonly<Record<string, string>> = { "https:": "wss:", "http:": "ws:" };

/**
 * The address agents link to, from what a person types: `control.example.com` and `https://control.example.com` stand for
 * `wss://control.example.com/v1/agent`. What is no address stays as it is, to be refused by the configuration's schema.
 */
export function controlPlaneAddress(typed: string): string {
  const url = URL.parse(typed.includes("://") ? typed : `https://${typed}`);
  if (!url) return typed;
  const address = url.href.replace(url.protocol, SCHEMES[url.protocol] ?? url.protocol);
  return url.pathname === "/" && url.search === "" ? address.replace(/\/?$/, AGENT_PATH) : address;
}

/** Where a code is exchanged, beside where agents link to. */
export function enrolmentAddress(controlPlane: string): URL {
  return new URL("enrolments", controlPlane.replace(/^ws/, "http"));
}
