import { isIP } from "node:net";

/**
 * Suffixes under which strangers have names beside each other: what stands before one belongs to one owner, who has
 * nothing to do with the others. Beside these there are the usual second levels of countries (`co.uk`, `com.au`).
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

/** Token servers of public registries under another name than the registry's. */
const KNOWN_AUTH_HOSTS: ReadonlyMap<string, string> = new Map([["scw.cloud", "api.scaleway.com"]]);

/**
 * Whether a token server may be shown the credentials for a registry: where it is on the same host (on any port), on one
 * of the same owner, as `auth.example.com` is of `registry.example.com`, or on one that the configuration names.
 *
 * @param registry where the registry answers: a host, with or without a port
 * @param authHosts further hosts; one with a port stands for that port only
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

/** A host without its port, in the one form that addresses of the web have. Empty for what is none. */
function normalizeHostname(host: string): string {
  return URL.parse(`https://${host}`)?.hostname.replace(/\.$/, "") ?? "";
}

/** The shortest name that belongs to one owner, as far as a name tells; nothing for addresses and names of one word. */
function registrableDomain(name: string): string | undefined {
  if (isIP(name) !== 0 || name.startsWith("[")) return undefined;
  const labels = name.split(".");
  const suffix = labels.slice(-2).join(".");
  const isShared = PUBLIC_SUFFIXES.has(suffix) || SECOND_LEVEL_SUFFIX.test(suffix);
  const length = isShared ? 3 : 2;
  return labels.length < length ? undefined : labels.slice(-length).join(".");
}
