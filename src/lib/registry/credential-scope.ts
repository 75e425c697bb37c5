import { isIP } from "node:net";

/**
 * Public suffixes: names directly below one belong to different owners. In addition to the usual second levels of
 * countries (`co.uk`, `com.au`).
 */
const PUBLIC_SUFFIXES: ReadonlySet<string> = new Set([
  "amazonaws.com",
  "azurecr.io",
  "azurewebsites.net",
  "cloudfront.net",
  "duckdns.org",
  "dyndns.org",
  "fly.dev",
  "github.io",
  "gitlab.io",
  "herokuapp.com",
  "jfrog.io",
  "netlify.app",
  "ngrok.io",
  "no-ip.org",
  "onrender.com",
  "pages.dev",
  "pkg.dev",
  "run.app",
  "vercel.app",
  "web.app",
  "windows.net",
  "workers.dev",
]);
const SECOND_LEVEL_SUFFIX =
  /^(?:ac|asso|biz|co|com|ed|edu|firm|gen|go|gob|gouv|gov|gv|id|ind|info|lg|ltd|me|mil|ne|net|nhs|nom|or|org|plc|sch|web)\.[a-z]{2}$/;

/** Token servers of public registries on another domain than the registry. */
const KNOWN_AUTH_HOSTS: ReadonlyMap<string, string> = new Map([["scw.cloud", "api.scaleway.com"]]);

/**
 * Whether credentials for a registry may be sent to a token server: it is on the same host (any port), on a host of the
 * same domain (`auth.example.com` for `registry.example.com`), or listed in the configuration.
 *
 * @param registry the registry's host, with or without a port
 * @param authHosts further hosts; one with a port allows that port only
 */
export function maySendCredentials(registry: string, server: URL, authHosts: readonly string[]): boolean {
  const own = normalizeHostname(registry);
  const other = normalizeHostname(server.host);
  if (own === "" || other === "") return false;
  if (own === other || authHosts.some((host) => isListedHost(host, server))) return true;
  const owner = registrableDomain(own);
  return owner !== undefined && (registrableDomain(other) === owner || KNOWN_AUTH_HOSTS.get(owner) === other);
}

function isListedHost(host: string, server: URL): boolean {
  const named = URL.parse(`${server.protocol}//${host}`);
  if (!named || normalizeHostname(host) !== normalizeHostname(server.host)) return false;
  return !/:\d+$/.test(host) || named.port === server.port;
}

/** Returns a host without port in the canonical form of URLs, or an empty string if it is not valid. */
function normalizeHostname(host: string): string {
  return URL.parse(`https://${host}`)?.hostname.replace(/\.$/, "") ?? "";
}

/** Returns the shortest suffix that belongs to one owner; `undefined` for IP addresses and single-label names. */
function registrableDomain(name: string): string | undefined {
  if (isIP(name) !== 0 || name.startsWith("[")) return undefined;
  const labels = name.split(".");
  const suffix = labels.slice(-2).join(".");
  const isShared = PUBLIC_SUFFIXES.has(suffix) || SECOND_LEVEL_SUFFIX.test(suffix);
  const length = isShared ? 3 : 2;
  return labels.length < length ? undefined : labels.slice(-length).join(".");
}
