const AGENT_PATH = "/v1/agent";
const SCHEMES: Readonly<Record<string, string>> = { "https:": "wss:", "http:": "ws:" };

/**
 * Completes a typed address: `control.example.com` and `https://control.example.com` become
 * `wss://control.example.com/v1/agent`. Returns an invalid address unchanged; the configuration's schema rejects it.
 */
export function controlPlaneAddress(typed: string): string {
  const url = URL.parse(typed.includes("://") ? typed : `https://${typed}`);
  if (!url) return typed;
  const address = url.href.replace(url.protocol, SCHEMES[url.protocol] ?? url.protocol);
  return url.pathname === "/" && url.search === "" ? address.replace(/\/?$/, AGENT_PATH) : address;
}

/** Returns the URL of the enrolment endpoint. */
export function enrolmentAddress(controlPlane: string): URL {
  return new URL("enrolments", controlPlane.replace(/^ws/, "http"));
}
